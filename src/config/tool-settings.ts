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
    enabled: setting('CUSTOM_TOOLS_ENABLED', flag, true).means('`false`: no executable is loaded as a tool.'),
    dir: setting('CUSTOM_TOOLS_DIR', folder, './tools/installed').means(
      'Folder whose `*/tool.json` are registered, at start and when they change. Relative to the project.',
    ),
    maxPoolSize: setting('CUSTOM_TOOLS_MAX_POOL_SIZE', whole(1, 1_000), 10).means(
      'Processes of one tool at most, whatever its `poolSize` says.',
    ),
    maxProcesses: setting('CUSTOM_TOOLS_MAX_PROCESSES', whole(1, 10_000), 100).means(
      'Processes of all tools together, those of executables that are tried out (registered, changed, enabled, validated) included: these wait `CUSTOM_TOOLS_START_TIMEOUT` for a place, then `tool_unavailable`.',
    ),
    maxQueue: setting('CUSTOM_TOOLS_MAX_QUEUE', whole(1, 100_000), 100).means(
      'Calls that may wait for one tool; beyond them: `queue_full`.',
    ),
    defaultTimeoutMs: setting('CUSTOM_TOOLS_DEFAULT_TIMEOUT', whole(10, 3_600_000), 30_000).means(
      'Milliseconds for a call of a tool whose registration names no `timeoutMs`; a later change holds for tools registered after it.',
    ),
    startTimeoutMs: setting('CUSTOM_TOOLS_START_TIMEOUT', whole(100, 600_000), 10_000).means(
      'Milliseconds for the answer to `initialize`.',
    ),
    healthCheckIntervalMs: setting(
      'CUSTOM_TOOLS_HEALTH_CHECK_INTERVAL',
      whole(1_000, 86_400_000),
      60_000,
    ).means('Milliseconds between two health checks of a tool.'),
    maxOutputBytes: setting('CUSTOM_TOOLS_MAX_OUTPUT_BYTES', whole(1_024, 1_073_741_824), 4_194_304).means(
      'Largest answer of a tool; beyond it: `output_too_large`.',
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
      "Names that may be given as a tool's command, found on the server's own `PATH`; `python3` stands for `python3.12`, too.",
    ),
    allowedRoots: setting('CUSTOM_TOOLS_ALLOWED_ROOTS', list).means(
      'Folders in which other executables, scripts and working directories must lie; `*`: anywhere. Unset: anywhere on a loopback address, else `CUSTOM_TOOLS_DIR` ([commands-and-secrets.md](operate/commands-and-secrets.md)).',
    ),
    allowedVariables: setting('CUSTOM_TOOLS_ALLOWED_ENV', variablePatterns, '').means(
      "Variables that tools may set besides `LANG`, `TZ` and `TOOL_*`, or be given of the server's, where there are allowed roots: names, and beginnings such as `DB_*`; none that an interpreter, the loader or a shell reads.",
    ),
  },
  bundles: {
    maxBytes: setting('BUNDLE_MAX_BYTES', whole(0, 268_435_456), 33_554_432).means(
      "Largest bundle of a tool's files, packed, with its packages; unpacked it may be eight times as large. 0: none is taken ([register.md](tools/register.md#bundles)).",
    ),
    installs: setting('BUNDLE_INSTALLS', flag, false).means(
      '`true`: packages that a bundle names and does not bring are installed by npm and pip, from the registries that these are configured for.',
    ),
    maxEntries: 20_000,
    installTimeoutMs: 300_000,
  },
  secrets: {
    keys: setting('SECRETS_KEY', secretKeys).means(
      "Keys for the values of tools' `env`; the first encrypts, the others still decrypt. Unset: a generated file in `TOOLKEEPER_DATA_DIR` ([commands-and-secrets.md](operate/commands-and-secrets.md#secrets)).",
    ),
  },
  toolInput: {
    maxBytes: setting('TOOL_INPUT_MAX_BYTES', whole(1, 1_073_741_824), 1_048_576).means(
      'Largest input of a call; beyond it: `payload_too_large`.',
    ),
    maxDepth: 64,
  },
  /** Limits of one tool's log; lines over the rate are counted, not kept. */
  toolLogs: { maxEntries: 1_000, maxBytes: 262_144, maxLineBytes: 4_096, linesPerSecond: 200 },
};

export const sandbox = {
  sandbox: {
    policy: setting('SANDBOX', oneOf('enforce', 'best-effort', 'off'), 'enforce').means(
      '`enforce`: a tool whose configuration demands what this host cannot enforce is refused, with the field and the reason. `best-effort`: it runs, and shows what is not enforced. `off`: tools run without a sandbox; the log at start and, with the key, the details of `/readyz` say so. `CUSTOM_TOOLS_SANDBOX_ENABLED` is an alias: `true` is `enforce`, `false` is `off`.',
    ),
    maxTier: setting('SANDBOX_MAX_TIER', whole(0, 3) as Kind<0 | 1 | 2 | 3>, 3).means(
      'The strongest tier that is used.',
    ),
    grantable: setting('SANDBOX_GRANTABLE_PATHS', paths, '').means(
      "Folders and files that a registration may name in `allowedPaths`, besides its tool's own folder. Unset: none ([sandbox.md](operate/sandbox.md#grants)).",
    ),
    defaults: {
      memoryMB: setting('SANDBOX_MEMORY_MB', whole(16, 1_048_576), 512).means(
        'Memory of a tool whose registration names no `maxMemoryMB`.',
      ),
      processes: setting('SANDBOX_PROCESSES', whole(1, 100_000), 64).means(
        'Processes that one process of a tool may have around it, itself included.',
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
      'Where leaf cgroups are made. `auto`: in our own group where it is the root of what we see; `off`: nowhere; a path: in that group of each hierarchy.',
    ),
    firstUid: setting('SANDBOX_FIRST_UID', whole(1_000, 2_147_418_111), 1_900_000_000).means(
      'Where the gateway runs as root, each tool runs as one of the 65,536 users from this id on. Another range: for a second gateway with a database of its own on the same host, or in a user namespace that maps fewer ids.',
    ),
  },
};

export const recording = {
  recorder: {
    journalDir: setting('JOURNAL_DIR', folder).means(
      'Folder of the journal of executions: one for each gateway, on a volume that outlives it. Unset: `journal` in `TOOLKEEPER_DATA_DIR`.',
    ),
    maxBytes: setting('JOURNAL_MAX_BYTES', whole(0, 1_099_511_627_776), 1_073_741_824).means(
      'Bytes that the journal of executions may take while the database takes no records, and as many again for that of spans (`spans` in `JOURNAL_DIR`). Beyond them calls are refused (`recorder_full`), or spans (`spans_full`).',
    ),
    durability: setting('JOURNAL_DURABILITY', oneOf('process', 'power'), 'process').means(
      '`process`: acknowledged records survive the death of the gateway. `power`: that of the machine too, at the price of a disk sync a call.',
    ),
    retentionDays: setting('METRICS_RETENTION_DAYS', whole(1, 3_650), 30).means(
      'How many days metrics are kept: a day (UTC) goes as a whole, with its statistics, once all of it is older.',
    ),
    captureTtlMs: setting('CAPTURE_TTL_HOURS', hours, 168).means(
      'Hours that inputs and results of tools with `capture` are kept ([recording.md](operate/recording.md#payloads)).',
    ),
    /** Records of one insert at most, and how long they wait for each other. */
    batchSize: 5_000,
    flushIntervalMs: 250,
  },
};

export const spans = {
  spans: {
    retentionDays: setting('SPANS_RETENTION_DAYS', whole(1, 3_650), 30).means(
      'How many days spans are kept: a day (UTC) goes as a whole once all of it is older; older spans are not taken.',
    ),
    maxBytes: setting('SPANS_MAX_BYTES', whole(0, 1_125_899_906_842_624), 10_737_418_240).means(
      'Bytes that spans may take in the database: beyond them the oldest days go before their time; today alone beyond them: `spans_full`.',
    ),
    /** Limits for a body on the wire, and inflated. */
    maxBodyBytes: 16_777_216,
    maxInflatedBytes: 16_777_216,
    /** Spans of one insert at most, and how long they wait for each other. */
    batchSize: 1_000,
    flushIntervalMs: 250,
  },
};

export const circuit = {
  circuit: {
    failures: setting('CIRCUIT_FAILURES', whole(1, 10_000), 5).means(
      'Faults of a tool within five minutes that open its circuit …',
    ),
    minFailureRate: setting('CIRCUIT_MIN_FAILURE_RATE', number(0, 1), 0.5).means(
      '… if they are at least this share of its calls there. 0: the count alone decides.',
    ),
    windowMs: 300_000,
    /** The first time; doubles each time in a row. */
    openMs: 30_000,
    maxOpenMs: 300_000,
    probes: 3,
  },
};

export const investigations = {
  investigations: {
    callsPerTool: setting('INVESTIGATION_CALLS_PER_TOOL', whole(0, 1_000_000), 10).means(
      'Calls of one tool in one investigation; 0: no limit. A tool may set its own.',
    ),
    /** Time from an investigation's first call until it is forgotten and its budget is whole again. */
    ttlMs: 86_400_000,
    maxTracked: 100_000,
  },
  idempotency: {
    /** How long the outcome of a call with an `Idempotency-Key` is kept. */
    ttlMs: 86_400_000,
    /** How long the key of a call that runs is held without a sign of life of its gateway. */
    leaseMs: 10_000,
  },
};
