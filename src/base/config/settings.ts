import { toolEventTypes } from '../streams/tool-events.js';
import { builtinTools } from './builtin-settings.js';
import { oidcIssuers } from './oidc-setting.js';
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
 * All environment variables that Toolkeeper reads. `npm run settings` generates .env.example and the tables of
 * docs/configuration.md from this file. Plain values are constants; they are here so that tests can change them.
 */

const server = {
  server: {
    host: setting(
      'HOST',
      kind('an address', (host) => (host === 'localhost' ? '127.0.0.1' : host)),
      '127.0.0.1',
    ).means('Address to listen on. Addresses other than loopback need `ADMIN_API_KEY` or `AUTH_MODE=off`.'),
    port: setting('PORT', whole(0, 65_535), 3_000).means('Port to listen on; 0 selects a free one.'),
    grpcPort: setting('GRPC_PORT', whole(0, 65_535)).means(
      'Port of the [gRPC service](operate/health.md#grpc); 0 selects a free one. Unset: no gRPC.',
    ),
    keepAliveTimeoutMs: setting('KEEP_ALIVE_TIMEOUT_MS', whole(1_000, 3_600_000), 72_000).means(
      'Milliseconds until an idle connection is closed; more than the timeout of a load balancer.',
    ),
    drainTimeoutMs: setting('DRAIN_TIMEOUT_MS', whole(100, 3_600_000), 25_000).means(
      "Milliseconds that SIGTERM waits for open requests; less than the orchestrator's grace period.",
    ),
    drainDelayMs: setting('DRAIN_DELAY_MS', whole(0, 600_000)).means(
      'Milliseconds after SIGTERM in which `/readyz` fails and calls are still taken. Unset: 5000, or 0 on a loopback address.',
    ),
    trustProxy: setting('TRUST_PROXY', flag, false).means(
      'Trust `X-Forwarded-*`, which a [proxy](operate/behind-a-proxy.md) sets.',
    ),
    publicUrl: setting('PUBLIC_URL', baseUrl).means(
      'Address of this server behind a [proxy](operate/behind-a-proxy.md), such as `https://example.com/tk`.',
    ),
    allowedHosts: setting(
      'ALLOWED_HOSTS',
      kind('names of hosts, comma-separated', (names) => list.read(names.toLowerCase())),
      '',
    ).means(
      'Additional names for the `Host` header of requests without a key. Without a proxy loopback names are allowed.',
    ),
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
      '`auto`: requests need a [key](operate/security.md#who-may-do-what). `off`: none does, so a proxy must authenticate callers.',
    ),
    adminKey: setting('ADMIN_API_KEY', secret).means(
      "The operator's key. If it is set, every route needs a key. Unset: `admin.key` in `TOOLKEEPER_DATA_DIR`, on loopback only.",
    ),
    public: setting('PUBLIC', someOf('metrics', 'docs'), '').means(
      'Routes that need no key. `metrics`: `/metrics`. `docs`: `/docs` and `/openapi.json`.',
    ),
    issuers: setting('OIDC_ISSUERS', oidcIssuers, '[]').means(
      'Issuers of [access tokens](operate/sign-in.md) that are accepted beside keys.',
    ),
    callsPerAddress: setting('CALLS_PER_ADDRESS', whole(0, 1_000_000), 0).means(
      'Maximum calls per minute from one address without a key; further calls are `rate_limited`. 0: no limit.',
    ),
    /** Max duration of a browser's session. */
    sessionMs: 12 * 3_600_000,
    /** Time for which a one-time sign-in link is valid. */
    signInLinkMs: 300_000,
  },
};

const database = {
  dataDir: setting('TOOLKEEPER_DATA_DIR', folder, '.toolkeeper').means(
    'Folder for data that must survive a restart, such as the embedded database.',
  ),
  database: {
    url: setting('DATABASE_URL', databaseUrl).means(
      'PostgreSQL server, 15 or newer ([TLS](operate/in-production.md#tls-to-postgresql)). Unset: the embedded one, in `TOOLKEEPER_DATA_DIR`.',
    ),
    sessionUrl: setting('DATABASE_SESSION_URL', databaseUrl).means(
      'Direct address of the same database, if `DATABASE_URL` leads to a [pooler](operate/pooler.md) in transaction mode.',
    ),
    poolSize: setting('DATABASE_POOL_SIZE', whole(2, 200), 6).means(
      'Maximum database connections of this process for requests; it has three more.',
    ),
    connectTimeoutMs: 5_000,
    /** Pause between two pings, and the timeout of each. */
    pingMs: 2_000,
    /** Longer than `statementTimeoutMs`, so that usually the server ends a statement. */
    queryTimeoutMs: 30_000,
    statementTimeoutMs: 25_000,
    idleInTransactionTimeoutMs: 10_000,
  },
};

const events = {
  events: {
    /** Max open streams per caller and kind of stream. Requests that wait for a result are a kind, too. */
    maxStreams: 8,
    /** Max open streams of all callers. */
    maxStreamsOfAll: 500,
    /** Number of events that are kept for streams that resume. */
    kept: 1_000,
  },
};

const playbooks = {
  playbooks: {
    dir: setting('PLAYBOOKS_DIR', folder, './playbooks').means('Folder of playbooks to import at start.'),
    cacheTtlMs: setting('PLAYBOOK_CACHE_TTL_MS', whole(0, 86_400_000), 3_600_000).means(
      'Milliseconds that results of `get_playbooks` and `get_context` are cached; 0: not cached.',
    ),
  },
};

const webhooks = {
  webhooks: {
    urls: setting('WEBHOOK_URLS', webUrls, '').means('Receivers of events; needs `WEBHOOK_SECRET`.'),
    secret: setting('WEBHOOK_SECRET', secret).means(
      'Secret that signs webhooks: `whsec_` and base64, or any text.',
    ),
    types: setting('WEBHOOK_EVENTS', someOf(...toolEventTypes)).means('Event types to send; unset: all.'),
    timeoutMs: 5_000,
    maxAttempts: 8,
  },
};

const dataStorage = {
  dataStorage: {
    url: setting('DATA_STORAGE_URL', baseUrl).means(
      'Base URL of a [service](operate/playbook-search.md#a-data-storage-service) that searches playbooks in place of the catalogue.',
    ),
    token: setting('DATA_STORAGE_TOKEN', text).means('Bearer token for the Data Storage service.'),
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
      'Base URL of an OpenAI-compatible `/embeddings` endpoint, such as `http://localhost:11434/v1` (Ollama). Unset: playbooks are found by words only.',
    ),
    model: setting('EMBEDDINGS_MODEL', text).means('Embedding model.'),
    apiKey: setting('EMBEDDINGS_API_KEY', text).means('API key, sent as a bearer token.'),
    cut: setting('EMBEDDINGS_CUT', number(0.05, 0.99), 0.4).means(
      'Cosine that corresponds to confidence 0.70; depends on the model.',
    ),
  },
};

const llm = {
  llm: {
    url: setting('LLM_BASE_URL', webUrl).means(
      'Base URL of an OpenAI-compatible `/chat/completions` endpoint, such as `https://api.openai.com/v1`.',
    ),
    model: setting('LLM_MODEL', text).means('Model for `analyze_with_llm` and the assistant.'),
    apiKey: setting('LLM_API_KEY', text).means('API key, sent as a bearer token.'),
  },
  assistant: {
    maxTokens: setting('ASSISTANT_MAX_TOKENS', whole(0, 1_000_000_000), 1_000_000).means(
      'Maximum tokens of one chat with the assistant; 0: no limit.',
    ),
    maxCost: setting('ASSISTANT_MAX_COST', number(0, 1_000_000), 5).means(
      'Maximum cost of one chat in US dollars, if the cost is known; 0: no limit.',
    ),
    retentionDays: setting('ASSISTANT_RETENTION_DAYS', whole(1, 3_650), 30).means(
      'Days until a chat is deleted after its last message.',
    ),
  },
};

// OpenTelemetry's SDK itself reads further variables for its exporters.
const tracing = {
  tracing: {
    disabled: setting('OTEL_SDK_DISABLED', flag, false).means('`true`: send no traces.'),
    exporter: setting('OTEL_TRACES_EXPORTER', oneOf('otlp', 'none')).means(
      '`otlp`: send traces. `none`: do not. Unset: `otlp` if an endpoint is set.',
    ),
    endpoint: setting('OTEL_EXPORTER_OTLP_ENDPOINT', webUrl).means(
      'Base URL of the receiver; traces go to `v1/traces` below it. Unset: `http://localhost:4318`.',
    ),
    tracesEndpoint: setting('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', webUrl).means(
      'Full URL for traces; takes precedence over the base URL.',
    ),
    protocol: setting('OTEL_EXPORTER_OTLP_PROTOCOL', oneOf('http/protobuf'), 'http/protobuf').means(
      'The only supported protocol.',
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
    ).means('Sampler for traces. `parentbased_…` follows the caller’s decision if there is one.'),
    ratio: setting('OTEL_TRACES_SAMPLER_ARG', number(0, 1), 1).means(
      'Share of traces that a `…traceidratio` sampler records.',
    ),
    delayMs: setting('OTEL_BSP_SCHEDULE_DELAY', whole(1, 3_600_000), 5_000).means(
      'Milliseconds between two batches of spans.',
    ),
    maxQueue: setting('OTEL_BSP_MAX_QUEUE_SIZE', whole(1, 1_000_000), 2_048).means(
      'Maximum spans that wait; further spans are dropped.',
    ),
    maxBatch: setting('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', whole(1, 1_000_000), 512).means(
      'Maximum spans per batch.',
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

/** All settings in one tree. */
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
