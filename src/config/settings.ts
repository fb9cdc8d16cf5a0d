import { toolEventTypes } from '../streams/tool-events.js';
import { builtinTools } from './builtin-settings.js';
import {
  baseUrl,
  databaseUrl,
  flag,
  folder,
  kind,
  list,
  number,
  oneOf,
  secret,
  setting,
  someOf,
  text,
  webUrl,
  webUrls,
  whole,
} from './setting.js';
import { circuit, customTools, investigations, recording, sandbox, spans } from './tool-settings.js';

/*
 * Every environment variable that Toolkeeper reads, once: `npm run settings` writes .env.example and the tables of
 * docs/configuration.md from here. Plain values are constants, which stand here so that a test can shorten them.
 */

const server = {
  server: {
    host: setting(
      'HOST',
      kind('an address', (host) => (host === 'localhost' ? '127.0.0.1' : host)),
      '127.0.0.1',
    ).means(
      'Address to listen on; `localhost` is `127.0.0.1`. Off loopback the server starts only with `ADMIN_API_KEY` or `AUTH_MODE=off`.',
    ),
    port: setting('PORT', whole(0, 65_535), 3_000).means('Port to listen on; 0 takes a free one.'),
    keepAliveTimeoutMs: setting('KEEP_ALIVE_TIMEOUT_MS', whole(1_000, 3_600_000), 72_000).means(
      'How long an idle connection stays open; longer than that of the load balancer in front.',
    ),
    drainTimeoutMs: setting('DRAIN_TIMEOUT_MS', whole(100, 3_600_000), 25_000).means(
      "How long SIGTERM waits for requests in flight; less than the orchestrator's grace period.",
    ),
    trustProxy: setting('TRUST_PROXY', flag, false).means(
      'Believe `X-Forwarded-*`: only behind a proxy that sets them.',
    ),
    allowedHosts: setting(
      'ALLOWED_HOSTS',
      kind('names of hosts, comma-separated', (names) => list.read(names.toLowerCase())),
      '',
    ).means('Host names besides loopback ones that callers without a key may name in `Host`.'),
    /** Limit for the body of a request that is no tool call; see toolInput. */
    bodyLimitBytes: 4_194_304,
    /** Interval of heartbeats on an idle stream. */
    sseHeartbeatMs: 15_000,
  },
  logging: {
    level: setting(
      'LOG_LEVEL',
      oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
      'info',
    ).means('Minimum level of log records.'),
  },
};

const access = {
  auth: {
    mode: setting('AUTH_MODE', oneOf('auto', 'off'), 'auto').means(
      '`auto`: a key is asked for: `ADMIN_API_KEY`, or on loopback the one that the server makes. `off`: nobody is asked, on any address: something in front must.',
    ),
    adminKey: setting('ADMIN_API_KEY', secret).means(
      'The key that may do everything, as `Authorization: Bearer` or `x-api-key`; every route asks for it then, on loopback too. Unset: `admin.key` in `TOOLKEEPER_DATA_DIR`, on loopback alone.',
    ),
    public: setting('PUBLIC', someOf('metrics', 'docs'), '').means(
      'Routes that need no key. `metrics`: `/metrics`. `docs`: `/docs` and `/openapi.json`.',
    ),
    callsPerAddress: setting('CALLS_PER_ADDRESS', whole(0, 1_000_000), 0).means(
      'Calls of tools a minute from one address for callers without a key, counted by each server; beyond them: `rate_limited`. 0: no limit. Keys have their own ([security.md](operate/security.md)).',
    ),
    /** Polling interval for changes of API keys, if the database does not notify of them. */
    keysRefreshMs: 750,
    /** Duration of one sign-in in a browser. */
    sessionMs: 12 * 3_600_000,
    signInLinkMs: 300_000,
  },
};

const database = {
  dataDir: setting('TOOLKEEPER_DATA_DIR', folder, '.toolkeeper').means(
    'What must outlive a restart, such as the embedded database. Relative to the project.',
  ),
  database: {
    url: setting('DATABASE_URL', databaseUrl).means(
      'A PostgreSQL server (15 or newer). Unset: the embedded one, in `TOOLKEEPER_DATA_DIR`.',
    ),
    poolSize: setting('DATABASE_POOL_SIZE', whole(2, 200), 10).means('Connections of this process at most.'),
    connectTimeoutMs: 5_000,
    /** Between two pings, and the timeout of each. */
    pingMs: 2_000,
    /** The client waits longer than the server works. */
    queryTimeoutMs: 30_000,
    statementTimeoutMs: 25_000,
    idleInTransactionTimeoutMs: 10_000,
  },
};

const events = {
  events: {
    /** Clients that may follow events at a time, and as many again for logs and for the list of tools. */
    maxStreams: 50,
    kept: 1_000,
  },
};

const playbooks = {
  playbooks: {
    dir: setting('PLAYBOOKS_DIR', folder, './playbooks').means(
      'Folder of the playbooks that are imported at start. Relative to the project.',
    ),
    cacheTtlMs: setting('PLAYBOOK_CACHE_TTL_MS', whole(0, 86_400_000), 3_600_000).means(
      'How long what `get_playbooks` and `get_context` found answers equal calls; 0: not at all.',
    ),
    refreshIntervalMs: 2_000,
  },
};

const webhooks = {
  webhooks: {
    urls: setting('WEBHOOK_URLS', webUrls, '').means('Where events are sent to; needs `WEBHOOK_SECRET`.'),
    secret: setting('WEBHOOK_SECRET', secret).means(
      'What webhooks are signed with: `whsec_` and base64, or any text.',
    ),
    types: setting('WEBHOOK_EVENTS', someOf(...toolEventTypes)).means(
      'Types of events that are sent; unset: all.',
    ),
    timeoutMs: 5_000,
    maxAttempts: 8,
    /** Beyond them the oldest is dropped. */
    maxQueue: 1_000,
  },
};

const dataStorage = {
  dataStorage: {
    url: setting('DATA_STORAGE_URL', baseUrl).means(
      'Base URL of a service that finds the playbooks instead of the catalogue here; unset: the catalogue.',
    ),
    token: setting('DATA_STORAGE_TOKEN', text).means('Bearer token for it.'),
    /** Limit for one try, from the connection to the last byte of the answer. */
    timeoutMs: 2_000,
    /** Limit for all tries and pauses of one request. */
    deadlineMs: 5_000,
    retries: 3,
    pauseMs: 100,
    connections: 16,
    maxResponseBytes: 262_144,
    cache: { maxBytes: 16_777_216, staleMs: 86_400_000 },
    circuit: {
      // Only the failure rate decides, after this many attempts.
      failures: 1,
      minCalls: 5,
      faultsAre: 'failed tries',
      minFailureRate: 0.5,
      windowMs: 300_000,
      openMs: 30_000,
      maxOpenMs: 300_000,
      probes: 1,
    },
  },
};

const embeddings = {
  embeddings: {
    url: setting('EMBEDDINGS_URL', webUrl).means(
      'An OpenAI-compatible endpoint up to `/embeddings`, such as `http://localhost:11434/v1` of Ollama: playbooks are then found by meaning too. Unset: by words alone.',
    ),
    model: setting('EMBEDDINGS_MODEL', text).means('Its model.'),
    apiKey: setting('EMBEDDINGS_API_KEY', text).means('Key, sent as bearer token.'),
    cut: setting('EMBEDDINGS_CUT', number(0.05, 0.99), 0.4).means(
      'Cosine from which a playbook is worth showing (confidence 0.70); each model has its own.',
    ),
  },
};

const llm = {
  llm: {
    url: setting('LLM_BASE_URL', webUrl).means(
      'An OpenAI-compatible endpoint up to `/chat/completions`, such as `https://api.openai.com/v1`: `analyze_with_llm` and experiments ask it. Unset: they say that there is none.',
    ),
    model: setting('LLM_MODEL', text).means('Its model.'),
    apiKey: setting('LLM_API_KEY', text).means('Key, sent as bearer token.'),
  },
};

// OpenTelemetry's SDK reads those of its other variables that concern what is sent and how.
const tracing = {
  tracing: {
    disabled: setting('OTEL_SDK_DISABLED', flag, false).means('`true`: no traces, whatever else is set.'),
    exporter: setting('OTEL_TRACES_EXPORTER', oneOf('otlp', 'none')).means(
      '`otlp`: traces are sent. `none`: they are not. Unset: `otlp` where an endpoint is set.',
    ),
    endpoint: setting('OTEL_EXPORTER_OTLP_ENDPOINT', webUrl).means(
      'Base URL of the receiver; traces go to `v1/traces` below it. Unset: `http://localhost:4318`.',
    ),
    tracesEndpoint: setting('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', webUrl).means(
      'Full URL for traces; wins over the base URL.',
    ),
    protocol: setting('OTEL_EXPORTER_OTLP_PROTOCOL', oneOf('http/protobuf'), 'http/protobuf').means(
      'The one way that is spoken.',
    ),
    sampler: setting(
      'OTEL_TRACES_SAMPLER',
      oneOf(
        'always_on',
        'always_off',
        'traceidratio',
        'parentbased_always_on',
        'parentbased_always_off',
        'parentbased_traceidratio',
      ),
      'parentbased_always_on',
    ).means('Which traces are kept. `parentbased_…`: the caller’s decision counts, where there is one.'),
    ratio: setting('OTEL_TRACES_SAMPLER_ARG', number(0, 1), 1).means(
      'Share of traces that a `…traceidratio` sampler keeps.',
    ),
    delayMs: setting('OTEL_BSP_SCHEDULE_DELAY', whole(1, 3_600_000), 5_000).means(
      'How long spans wait for others to be sent with, in milliseconds.',
    ),
    maxQueue: setting('OTEL_BSP_MAX_QUEUE_SIZE', whole(1, 1_000_000), 2_048).means(
      'Spans that may wait; beyond them they are dropped.',
    ),
    maxBatch: setting('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', whole(1, 1_000_000), 512).means(
      'Spans of one batch at most.',
    ),
  },
};

/** Settings by the headings of docs/configuration.md. */
export const sections = {
  Server: server,
  'Who may call': access,
  Database: database,
  'Custom tools': customTools,
  'Built-in tools': builtinTools,
  Sandbox: sandbox,
  Recording: recording,
  Spans: spans,
  'Circuit breaker': circuit,
  'Investigations and repetition': investigations,
  Playbooks: playbooks,
  Webhooks: webhooks,
  'Data Storage service': dataStorage,
  Embeddings: embeddings,
  'Language model': llm,
  Tracing: tracing,
};

export const settings = {
  ...server,
  ...access,
  ...database,
  ...customTools,
  ...builtinTools,
  ...sandbox,
  ...recording,
  ...spans,
  ...circuit,
  ...investigations,
  ...events,
  ...playbooks,
  ...webhooks,
  ...dataStorage,
  ...embeddings,
  ...llm,
  ...tracing,
};
