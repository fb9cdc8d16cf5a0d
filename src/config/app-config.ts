import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { existsSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toolEventTypes } from '../common/tool-events.js';
import { ConfigurationError } from './configuration-error.js';
import { embeddings, embeddingsProblems } from './embeddings-config.js';
import { Environment, variableNames } from './environment.js';
import { secretKeysIn } from './secret-keys.js';
import { dataStorage } from './data-storage-config.js';
import { problemOfPatterns } from './tool-variables.js';
import { tracingConfig } from './tracing-config.js';

/** The typed configuration tree. Inject it with `@Inject(APP_CONFIG)`. */
export type AppConfig = ReturnType<typeof toTree>;
export const APP_CONFIG = Symbol('AppConfig');
export { ConfigurationError };

/**
 * Parses and validates the environment once.
 * @throws ConfigurationError naming every bad variable, its value's problem and its bounds
 */
export function loadConfig(variables: NodeJS.ProcessEnv = process.env): AppConfig {
  const given = variableNames.flatMap((name) => {
    const value = variables[name]?.trim();
    return value ? [[name, value] as const] : [];
  });
  const environment = plainToInstance(Environment, Object.fromEntries(given), { exposeDefaultValues: true });
  const problems = validateSync(environment).map(
    ({ property, constraints }) => `${property}: ${Object.values(constraints ?? {}).join('; ')}`,
  );
  // Of what is valid by itself only: a second complaint about the same value helps nobody.
  const ofSeveral = [
    ...webhookProblems(environment),
    ...embeddingsProblems(environment),
    ...variableProblems(environment),
  ];
  problems.push(
    ...ofSeveral.filter((problem) => !problems.some((other) => subjectOf(other) === subjectOf(problem))),
  );
  if (problems.length > 0) {
    throw new ConfigurationError(`The environment is not valid:\n  ${problems.join('\n  ')}`);
  }
  return toTree(environment);
}

const subjectOf = (problem: string): string => problem.slice(0, problem.indexOf(':'));

/** The folder that holds package.json: the same for src/, dist/ and the image. */
export function projectRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));

function toTree(env: Environment) {
  const root = projectRoot();
  return {
    root,
    server: server(env),
    logging: { level: env.LOG_LEVEL },
    auth: {
      mode: env.AUTH_MODE as 'auto' | 'off',
      adminKey: env.ADMIN_API_KEY,
      /** Holds the key of a server on loopback that was given none. */
      adminKeyFile: resolve(root, env.TOOLKEEPER_DATA_DIR, 'admin.key'),
      metricsPublic: env.METRICS_PUBLIC,
      docsPublic: env.DOCS_PUBLIC,
    },
    dataDir: resolve(root, env.TOOLKEEPER_DATA_DIR),
    database: {
      url: env.DATABASE_URL,
      poolSize: env.DATABASE_POOL_SIZE,
      connectTimeoutMs: env.DATABASE_CONNECT_TIMEOUT_MS,
      queryTimeoutMs: env.DATABASE_QUERY_TIMEOUT_MS,
      statementTimeoutMs: env.DATABASE_STATEMENT_TIMEOUT_MS,
      idleInTransactionTimeoutMs: env.DATABASE_IDLE_TRANSACTION_TIMEOUT_MS,
    },
    customTools: customTools(env, root),
    commands: commands(env, root),
    toolLogs: {
      maxEntries: env.CUSTOM_TOOLS_LOG_ENTRIES,
      maxBytes: env.CUSTOM_TOOLS_LOG_BYTES,
      maxLineBytes: env.CUSTOM_TOOLS_LOG_LINE_BYTES,
      linesPerSecond: env.CUSTOM_TOOLS_LOG_LINES_PER_SECOND,
      maxStreams: env.CUSTOM_TOOLS_LOG_STREAMS,
    },
    secrets: {
      /** The first encrypts; empty: the key file in the data directory. */
      keys: secretKeysIn(env.SECRETS_KEY ?? '') ?? [],
      keyFile: resolve(root, env.TOOLKEEPER_DATA_DIR, 'secrets.key'),
    },
    sandbox: sandbox(env),
    toolInput: { maxBytes: env.TOOL_INPUT_MAX_BYTES, maxDepth: env.TOOL_INPUT_MAX_DEPTH },
    recorder: recorder(env, root),
    circuit: circuit(env),
    healthWatch: { intervalMs: env.HEALTH_WATCH_INTERVAL_MS },
    investigations: {
      callsPerTool: env.INVESTIGATION_CALLS_PER_TOOL,
      ttlMs: env.INVESTIGATION_TTL_HOURS * 3_600_000,
      maxTracked: env.INVESTIGATION_MAX_TRACKED,
    },
    ...repetition(env),
    ...events(env),
    tracing: tracingConfig(env),
    playbooks: {
      dir: resolve(root, env.PLAYBOOKS_DIR),
      cacheTtlMs: env.PLAYBOOK_CACHE_TTL_MS,
      refreshIntervalMs: env.PLAYBOOKS_REFRESH_INTERVAL_MS,
    },
    embeddings: embeddings(env, root),
    dataStorage: dataStorage(env),
  };
}

function server(env: Environment) {
  return {
    // `localhost` may be two addresses: one server listens on one.
    host: env.HOST === 'localhost' ? '127.0.0.1' : env.HOST,
    port: env.PORT,
    /** Only this machine reaches the server. */
    loopback: isLoopback(env.HOST),
    bodyLimitBytes: env.BODY_LIMIT_BYTES,
    requestTimeoutMs: env.REQUEST_TIMEOUT_MS,
    keepAliveTimeoutMs: env.KEEP_ALIVE_TIMEOUT_MS,
    drainTimeoutMs: env.DRAIN_TIMEOUT_MS,
    trustProxy: env.TRUST_PROXY,
    /** Host names besides loopback that a keyless server answers to. */
    allowedHosts: wordsOf(env.ALLOWED_HOSTS).map((host) => host.toLowerCase()),
    sseHeartbeatMs: env.SSE_HEARTBEAT_MS,
  };
}

function circuit(env: Environment) {
  return {
    failures: env.CIRCUIT_FAILURES,
    minFailureRate: env.CIRCUIT_MIN_FAILURE_RATE,
    windowMs: env.CIRCUIT_WINDOW_MS,
    openMs: env.CIRCUIT_OPEN_MS,
    maxOpenMs: env.CIRCUIT_MAX_OPEN_MS,
    probes: env.CIRCUIT_PROBES,
  };
}

function repetition(env: Environment) {
  return {
    idempotency: {
      ttlMs: env.IDEMPOTENCY_TTL_HOURS * 3_600_000,
      leaseMs: env.IDEMPOTENCY_LEASE_MS,
      maxOutcomeBytes: env.IDEMPOTENCY_MAX_OUTCOME_BYTES,
    },
    resultCache: { maxBytes: env.RESULT_CACHE_MAX_BYTES },
  };
}

function events(env: Environment) {
  return { events: { kept: env.EVENTS_KEPT, maxStreams: env.EVENTS_STREAMS }, webhooks: webhooks(env) };
}

function webhooks(env: Environment) {
  const urls = wordsOf(env.WEBHOOK_URLS);
  const types = wordsOf(env.WEBHOOK_EVENTS);
  return {
    urls,
    secret: env.WEBHOOK_SECRET,
    /** Undefined: all of them. */
    types: types.length > 0 ? new Set(types) : undefined,
    timeoutMs: env.WEBHOOK_TIMEOUT_MS,
    maxAttempts: env.WEBHOOK_MAX_ATTEMPTS,
    maxQueue: env.WEBHOOK_MAX_QUEUE,
  };
}

function webhookProblems(env: Environment): string[] {
  const known: readonly string[] = toolEventTypes;
  const unknown = wordsOf(env.WEBHOOK_EVENTS).filter((type) => !known.includes(type));
  const unsigned = wordsOf(env.WEBHOOK_URLS).length > 0 && env.WEBHOOK_SECRET === undefined;
  return [
    ...(unknown.length > 0 ? [`WEBHOOK_EVENTS: ${unknown.join(', ')}: there are ${known.join(', ')}`] : []),
    ...(unsigned ? ['WEBHOOK_URLS: needs WEBHOOK_SECRET: webhooks are signed'] : []),
  ];
}

function variableProblems(env: Environment): string[] {
  const problem = problemOfPatterns(wordsOf(env.CUSTOM_TOOLS_ALLOWED_ENV));
  return problem === undefined ? [] : [`CUSTOM_TOOLS_ALLOWED_ENV: ${problem}`];
}

const wordsOf = (list = ''): string[] =>
  list
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean);

function sandbox(env: Environment) {
  return {
    policy: env.SANDBOX_POLICY as 'enforce' | 'best-effort',
    maxTier: env.SANDBOX_MAX_TIER as 0 | 1 | 2 | 3,
    defaults: {
      memoryMB: env.SANDBOX_MEMORY_MB,
      processes: env.SANDBOX_PROCESSES,
      temporaryMB: env.SANDBOX_TEMPORARY_MB,
    },
    cgroup: env.SANDBOX_CGROUP,
    firstUid: env.SANDBOX_FIRST_UID,
  };
}

/** What a custom tool may be started from. */
function commands(env: Environment, root: string) {
  const roots = wordsOf(env.CUSTOM_TOOLS_ALLOWED_ROOTS);
  // Who registers a tool on a loopback address has the machine already; elsewhere only what was put in its place runs.
  const byDefault = isLoopback(env.HOST) ? undefined : [resolve(root, env.CUSTOM_TOOLS_DIR)];
  return {
    interpreters: new Set(wordsOf(env.CUSTOM_TOOLS_INTERPRETERS)),
    /** Absolute folders; undefined: anywhere. */
    allowedRoots:
      roots.length === 0
        ? byDefault
        : roots.includes('*')
          ? undefined
          : roots.map((path) => resolve(root, path)),
    allowInlineCode: env.CUSTOM_TOOLS_ALLOW_INLINE_CODE,
    /** What a tool may set besides the harmless variables, where there are roots. */
    allowedVariables: wordsOf(env.CUSTOM_TOOLS_ALLOWED_ENV),
  };
}

function recorder(env: Environment, root: string) {
  return {
    journalDir: resolve(root, env.JOURNAL_DIR ?? join(env.TOOLKEEPER_DATA_DIR, 'journal')),
    maxBytes: env.JOURNAL_MAX_BYTES,
    durability: env.JOURNAL_DURABILITY as 'process' | 'power',
    whenFull: env.RECORDER_WHEN_FULL as 'refuse' | 'drop',
    batchSize: env.RECORDER_BATCH_SIZE,
    flushIntervalMs: env.RECORDER_FLUSH_INTERVAL_MS,
    retentionDays: env.METRICS_RETENTION_DAYS,
  };
}

function customTools(env: Environment, root: string) {
  return {
    enabled: env.CUSTOM_TOOLS_ENABLED,
    dir: resolve(root, env.CUSTOM_TOOLS_DIR),
    maxPoolSize: env.CUSTOM_TOOLS_MAX_POOL_SIZE,
    maxProcesses: env.CUSTOM_TOOLS_MAX_PROCESSES,
    maxConcurrentStarts: env.CUSTOM_TOOLS_MAX_CONCURRENT_STARTS,
    maxRequestsPerProcess: env.CUSTOM_TOOLS_MAX_REQUESTS_PER_PROCESS,
    maxProcessAgeMs: env.CUSTOM_TOOLS_MAX_PROCESS_AGE_MS,
    maxProcessRssBytes: env.CUSTOM_TOOLS_MAX_PROCESS_RSS_BYTES,
    processCheckIntervalMs: env.CUSTOM_TOOLS_PROCESS_CHECK_INTERVAL,
    maxQueue: env.CUSTOM_TOOLS_MAX_QUEUE,
    healthCheckIntervalMs: env.CUSTOM_TOOLS_HEALTH_CHECK_INTERVAL,
    healthTimeoutMs: env.CUSTOM_TOOLS_HEALTH_TIMEOUT,
    reloadIntervalMs: env.CUSTOM_TOOLS_RELOAD_INTERVAL,
    defaultTimeoutMs: env.CUSTOM_TOOLS_DEFAULT_TIMEOUT,
    sandboxEnabled: env.CUSTOM_TOOLS_SANDBOX_ENABLED,
    maxOutputBytes: env.CUSTOM_TOOLS_MAX_OUTPUT_BYTES,
    outputLinesPerSecond: env.CUSTOM_TOOLS_OUTPUT_LINES_PER_SECOND,
    stderrBytes: env.CUSTOM_TOOLS_STDERR_BYTES,
    idleTimeoutMs: env.CUSTOM_TOOLS_IDLE_TIMEOUT,
    stopGraceMs: env.CUSTOM_TOOLS_STOP_GRACE,
    cancelGraceMs: env.CUSTOM_TOOLS_CANCEL_GRACE,
    startTimeoutMs: env.CUSTOM_TOOLS_START_TIMEOUT,
    schemaMaxBytes: env.TOOL_SCHEMA_MAX_BYTES,
    schemaMaxDepth: env.TOOL_SCHEMA_MAX_DEPTH,
  };
}
