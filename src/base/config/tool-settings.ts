import {
  flag,
  folder,
  hours,
  kind,
  type Kind,
  list,
  number,
  oneOf,
  paths,
  secretKeys,
  setting,
  whole,
} from './setting.js';
import { variablePatterns } from './tool-variables.js';

/** The settings of tools and of their calls; settings.ts is the whole tree. */
export const customTools = {
  customTools: {
    enabled: setting('CUSTOM_TOOLS_ENABLED', flag, true).means('`false`: load no executables as tools.'),
    dir: setting('CUSTOM_TOOLS_DIR', folder, './tools/installed').means(
      'Folder of `*/tool.json` files, which are registered at start and when they change.',
    ),
    maxPoolSize: setting('CUSTOM_TOOLS_MAX_POOL_SIZE', whole(1, 1_000), 10).means(
      'Maximum processes of one tool; overrides a larger `poolSize`.',
    ),
    maxProcesses: setting('CUSTOM_TOOLS_MAX_PROCESSES', whole(1, 10_000), 100).means(
      'Maximum processes of all tools, including test starts.',
    ),
    maxQueue: setting('CUSTOM_TOOLS_MAX_QUEUE', whole(1, 100_000), 100).means(
      'Maximum calls that wait for one tool, three quarters of them of one caller; further calls are `queue_full`.',
    ),
    defaultTimeoutMs: setting('CUSTOM_TOOLS_DEFAULT_TIMEOUT', whole(10, 3_600_000), 30_000).means(
      'Default `timeoutMs` of tools that are registered from now on.',
    ),
    startTimeoutMs: setting('CUSTOM_TOOLS_START_TIMEOUT', whole(100, 600_000), 10_000).means(
      'Milliseconds in which a tool must answer `initialize`.',
    ),
    healthCheckIntervalMs: setting(
      'CUSTOM_TOOLS_HEALTH_CHECK_INTERVAL',
      whole(1_000, 86_400_000),
      60_000,
    ).means('Milliseconds between health checks of a tool.'),
    maxOutputBytes: setting('CUSTOM_TOOLS_MAX_OUTPUT_BYTES', whole(1_024, 1_073_741_824), 4_194_304).means(
      "Maximum size of a tool's answer; a larger one is `output_too_large`.",
    ),
    healthTimeoutMs: 5_000,
    reloadIntervalMs: 2_000,
    maxConcurrentStarts: 4,
    maxRequestsPerProcess: 100_000,
    maxProcessAgeMs: 3_600_000,
    /** Default for a tool without sandbox.maxMemoryMB. */
    maxProcessRssBytes: 1_073_741_824,
    processCheckIntervalMs: 5_000,
    idleTimeoutMs: 300_000,
    stopGraceMs: 500,
    cancelGraceMs: 1_000,
    outputLinesPerSecond: 10_000,
    stderrBytes: 65_536,
  },
  commands: {
    interpreters: setting(
      'CUSTOM_TOOLS_INTERPRETERS',
      list,
      'python3,python,node,bash,sh,deno,ruby,perl,java',
    ).means(
      "Interpreters that a tool's command may name, found on the server's `PATH`. `python3` includes `python3.12`.",
    ),
    allowedRoots: setting('CUSTOM_TOOLS_ALLOWED_ROOTS', list).means(
      '[Folders](operate/commands-and-secrets.md) that must contain other executables, scripts and working directories; `*`: anywhere. Unset: anywhere on a loopback address, else `CUSTOM_TOOLS_DIR`.',
    ),
    allowedVariables: setting('CUSTOM_TOOLS_ALLOWED_ENV', variablePatterns, '').means(
      'Additional [variables](operate/commands-and-secrets.md#variables) that tools may set if there are allowed roots, or get from the server, such as `DB_*`.',
    ),
  },
  bundles: {
    maxBytes: setting('BUNDLE_MAX_BYTES', whole(0, 268_435_456), 33_554_432).means(
      'Maximum size of a packed [bundle](tools/bundles.md). 0: bundles are refused.',
    ),
    maxEntries: 20_000,
  },
  secrets: {
    keys: setting('SECRETS_KEY', secretKeys).means(
      "[Keys](operate/commands-and-secrets.md#secrets) that encrypt the values of tools' `env`: the first encrypts, all decrypt. Unset: a generated file in `TOOLKEEPER_DATA_DIR`.",
    ),
  },
  toolInput: {
    maxBytes: setting('TOOL_INPUT_MAX_BYTES', whole(1, 1_073_741_824), 1_048_576).means(
      "Maximum size of a call's input; a larger one is `payload_too_large`.",
    ),
    maxDepth: 64,
  },
  /** Limits of one tool's log; lines over the rate are counted, not kept. */
  toolLogs: { maxEntries: 1_000, maxBytes: 262_144, maxLineBytes: 4_096, linesPerSecond: 200 },
};

export const sandbox = {
  sandbox: {
    policy: setting('SANDBOX', oneOf('enforce', 'best-effort', 'off'), 'enforce').means(
      '[Effect](operate/sandbox-host.md#restrictions-that-the-host-cannot-enforce) of a restriction that this host cannot enforce. `off`: all tools run without a sandbox. Alias: `CUSTOM_TOOLS_SANDBOX_ENABLED` (`true`: `enforce`, `false`: `off`).',
    ),
    maxTier: setting('SANDBOX_MAX_TIER', whole(0, 3) as Kind<0 | 1 | 2 | 3>, 3).means(
      'Maximum sandbox tier.',
    ),
    grantable: setting('SANDBOX_GRANTABLE_PATHS', paths, '').means(
      "Folders and files that [`allowedPaths`](operate/sandbox.md#grants) may name, besides the tool's own folder.",
    ),
    defaults: {
      memoryMB: setting('SANDBOX_MEMORY_MB', whole(16, 1_048_576), 512).means(
        'Default `maxMemoryMB` of a tool.',
      ),
      processes: setting('SANDBOX_PROCESSES', whole(1, 100_000), 64).means(
        'Maximum processes of one tool process and its descendants together.',
      ),
      temporaryMB: setting('SANDBOX_TEMPORARY_MB', whole(1, 1_048_576), 64).means(
        "Size of a tool's private temporary directory.",
      ),
    },
    cgroup: setting(
      'SANDBOX_CGROUP',
      kind('`auto`, `off` or a path', (place) => (/^(auto|off|\/\S*)$/.test(place) ? place : undefined)),
      'auto',
    ).means(
      "[Parent](operate/sandbox-host.md) of the cgroups for tools: the server's own group, none, or this group of each hierarchy.",
    ),
    firstUid: setting('SANDBOX_FIRST_UID', whole(1_000, 2_147_418_111), 1_900_000_000).means(
      'First of 65,536 [user ids](operate/sandbox-host.md#users-of-tools) for tools, if the server runs as root.',
    ),
  },
};

export const recording = {
  recorder: {
    journalDir: setting('JOURNAL_DIR', folder).means(
      'Folder of the [journal](operate/recording.md): one for each gateway, on a volume that outlives it. Unset: `journal` in `TOOLKEEPER_DATA_DIR`.',
    ),
    maxBytes: setting('JOURNAL_MAX_BYTES', whole(0, 1_099_511_627_776), 1_073_741_824).means(
      'Maximum size of the journal of executions, and of that of spans. At the limit calls are refused with `recorder_full`, spans with `spans_full`.',
    ),
    durability: setting('JOURNAL_DURABILITY', oneOf('process', 'power'), 'process').means(
      '`process`: records survive a crash of the gateway. `power`: also one of the machine, with one disk sync per call.',
    ),
    retentionDays: setting('METRICS_RETENTION_DAYS', whole(1, 3_650), 30).means(
      'Days that metrics are stored. A day (UTC) is deleted when all of it is older.',
    ),
    captureTtlMs: setting('CAPTURE_TTL_HOURS', hours, 168).means(
      'Hours that inputs and results of tools with [`capture`](operate/recording.md#payloads) are stored.',
    ),
    /** Max records of one insert, and the time for which they are collected. */
    batchSize: 5_000,
    flushIntervalMs: 250,
  },
};

export const spans = {
  spans: {
    retentionDays: setting('SPANS_RETENTION_DAYS', whole(1, 3_650), 30).means(
      'Days that spans are stored. A day (UTC) is deleted when all of it is older; older spans are rejected.',
    ),
    maxBytes: setting('SPANS_MAX_BYTES', whole(0, 1_125_899_906_842_624), 10_737_418_240).means(
      'Maximum size of spans in the database. Above it the oldest days are deleted early; if today alone exceeds it, spans are refused with `spans_full`.',
    ),
    /** Max size of a body as it was sent, and after decompression. */
    maxBodyBytes: 16_777_216,
    maxInflatedBytes: 16_777_216,
    /** Max spans of one insert, and the time for which they are collected. */
    batchSize: 1_000,
    flushIntervalMs: 250,
  },
};

export const circuit = {
  circuit: {
    failures: setting('CIRCUIT_FAILURES', whole(1, 10_000), 5).means(
      'Faults of a tool in five minutes that open its circuit, if they reach `CIRCUIT_MIN_FAILURE_RATE`.',
    ),
    minFailureRate: setting('CIRCUIT_MIN_FAILURE_RATE', number(0, 1), 0.5).means(
      'Minimum share of faults among the calls in these five minutes. 0: only the number of faults counts.',
    ),
    windowMs: 300_000,
    /** Duration of the first opening. It doubles with each opening in a row. */
    openMs: 30_000,
    maxOpenMs: 300_000,
    probes: 3,
  },
};

export const investigations = {
  investigations: {
    callsPerTool: setting('INVESTIGATION_CALLS_PER_TOOL', whole(0, 1_000_000), 10).means(
      'Maximum calls of one tool in one investigation; 0: no limit. A tool may set its own limit.',
    ),
    /** Time from an investigation's first call until its counts are reset. */
    ttlMs: 86_400_000,
    maxTracked: 100_000,
  },
  idempotency: {
    /** Time for which the outcome of a call with an `Idempotency-Key` is stored. */
    ttlMs: 86_400_000,
    /** Time after which the key of a running call is released if its replica sends no heartbeat. */
    leaseMs: 10_000,
  },
};
