import { Type } from 'class-transformer';
import {
  IsIn,
  IsNotEmpty,
  IsNumber,
  IsOptional,
  IsString,
  IsUrl,
  Matches,
  Max,
  Min,
  MinLength,
} from 'class-validator';
import { type TraceSampler, traceSamplers } from './trace-samplers.js';
import {
  BaseUrl,
  Flag,
  KeyValueList,
  SecretKeys,
  WebUrl,
  WebUrls,
  WholeNumber,
} from './variable.decorators.js';

/**
 * Every environment variable that Toolkeeper reads, with its default and its bounds.
 * `.env.example` and docs/configuration.md list the same variables; a test compares them.
 */
export class Environment {
  // Server
  @IsString() @IsNotEmpty() HOST = '127.0.0.1';
  @WholeNumber(0, 65_535) PORT = 3000;
  @WholeNumber(1_024, 1_073_741_824) BODY_LIMIT_BYTES = 4_194_304;
  @WholeNumber(1_000, 3_600_000) REQUEST_TIMEOUT_MS = 60_000;
  @WholeNumber(1_000, 3_600_000) KEEP_ALIVE_TIMEOUT_MS = 72_000;
  @WholeNumber(100, 3_600_000) DRAIN_TIMEOUT_MS = 25_000;
  @Flag() TRUST_PROXY = false;
  @IsOptional() @IsString() ALLOWED_HOSTS?: string;
  @WholeNumber(100, 600_000) SSE_HEARTBEAT_MS = 15_000;
  @IsIn(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']) LOG_LEVEL = 'info';

  // Who may call
  @IsIn(['auto', 'off']) AUTH_MODE = 'auto';
  @IsOptional() @IsString() @MinLength(16) ADMIN_API_KEY?: string;
  @Flag() METRICS_PUBLIC = false;
  @Flag() DOCS_PUBLIC = false;

  // Database
  @IsOptional()
  @IsUrl({ protocols: ['postgres', 'postgresql'], require_tld: false, require_protocol: true })
  DATABASE_URL?: string;
  @IsString() @IsNotEmpty() TOOLKEEPER_DATA_DIR = '.toolkeeper';
  @WholeNumber(2, 200) DATABASE_POOL_SIZE = 10;
  @WholeNumber(100, 600_000) DATABASE_CONNECT_TIMEOUT_MS = 5_000;
  @WholeNumber(100, 600_000) DATABASE_QUERY_TIMEOUT_MS = 30_000;
  @WholeNumber(100, 600_000) DATABASE_STATEMENT_TIMEOUT_MS = 25_000;
  @WholeNumber(100, 600_000) DATABASE_IDLE_TRANSACTION_TIMEOUT_MS = 10_000;

  // Custom tools
  @IsString() @IsNotEmpty() CUSTOM_TOOLS_DIR = './tools/installed';
  @Flag() CUSTOM_TOOLS_ENABLED = true;
  @WholeNumber(1, 1_000) CUSTOM_TOOLS_MAX_POOL_SIZE = 10;
  @WholeNumber(1_000, 86_400_000) CUSTOM_TOOLS_HEALTH_CHECK_INTERVAL = 60_000;
  @WholeNumber(100, 600_000) CUSTOM_TOOLS_HEALTH_TIMEOUT = 5_000;
  @WholeNumber(100, 86_400_000) CUSTOM_TOOLS_RELOAD_INTERVAL = 2_000;
  @WholeNumber(10, 3_600_000) CUSTOM_TOOLS_DEFAULT_TIMEOUT = 30_000;
  @Flag() CUSTOM_TOOLS_SANDBOX_ENABLED = true;
  @WholeNumber(1, 100_000) CUSTOM_TOOLS_MAX_QUEUE = 100;
  @WholeNumber(1, 10_000) CUSTOM_TOOLS_MAX_PROCESSES = 100;
  @WholeNumber(1, 1_000) CUSTOM_TOOLS_MAX_CONCURRENT_STARTS = 4;
  @WholeNumber(0, 1_000_000_000) CUSTOM_TOOLS_MAX_REQUESTS_PER_PROCESS = 100_000;
  @WholeNumber(0, 2_592_000_000) CUSTOM_TOOLS_MAX_PROCESS_AGE_MS = 3_600_000;
  @WholeNumber(0, 1_099_511_627_776) CUSTOM_TOOLS_MAX_PROCESS_RSS_BYTES = 1_073_741_824;
  @WholeNumber(100, 3_600_000) CUSTOM_TOOLS_PROCESS_CHECK_INTERVAL = 5_000;
  @WholeNumber(1_024, 1_073_741_824) CUSTOM_TOOLS_MAX_OUTPUT_BYTES = 4_194_304;
  @WholeNumber(100, 10_000_000) CUSTOM_TOOLS_OUTPUT_LINES_PER_SECOND = 10_000;
  @WholeNumber(1_024, 16_777_216) CUSTOM_TOOLS_STDERR_BYTES = 65_536;
  @WholeNumber(1_000, 3_600_000) CUSTOM_TOOLS_IDLE_TIMEOUT = 300_000;
  @WholeNumber(10, 60_000) CUSTOM_TOOLS_STOP_GRACE = 500;
  @WholeNumber(0, 60_000) CUSTOM_TOOLS_CANCEL_GRACE = 1_000;
  @WholeNumber(100, 600_000) CUSTOM_TOOLS_START_TIMEOUT = 10_000;
  @IsString() @IsNotEmpty() CUSTOM_TOOLS_INTERPRETERS = 'python3,python,node,bash,sh,deno,ruby,perl,java';
  @IsOptional() @IsString() CUSTOM_TOOLS_ALLOWED_ROOTS?: string;
  @Flag() CUSTOM_TOOLS_ALLOW_INLINE_CODE = false;
  @IsOptional() @IsString() CUSTOM_TOOLS_ALLOWED_ENV?: string;
  @WholeNumber(10, 100_000) CUSTOM_TOOLS_LOG_ENTRIES = 1_000;
  @WholeNumber(16_384, 67_108_864) CUSTOM_TOOLS_LOG_BYTES = 262_144;
  @WholeNumber(128, 65_536) CUSTOM_TOOLS_LOG_LINE_BYTES = 4_096;
  @WholeNumber(1, 100_000) CUSTOM_TOOLS_LOG_LINES_PER_SECOND = 200;
  @WholeNumber(1, 10_000) CUSTOM_TOOLS_LOG_STREAMS = 50;
  @IsOptional() @SecretKeys() SECRETS_KEY?: string;
  @WholeNumber(1, 1_073_741_824) TOOL_INPUT_MAX_BYTES = 1_048_576;
  @WholeNumber(1, 1_000) TOOL_INPUT_MAX_DEPTH = 64;
  @WholeNumber(64, 1_048_576) TOOL_SCHEMA_MAX_BYTES = 65_536;
  @WholeNumber(1, 1_000) TOOL_SCHEMA_MAX_DEPTH = 32;

  // Sandbox
  @IsIn(['enforce', 'best-effort']) SANDBOX_POLICY = 'enforce';
  @WholeNumber(0, 3) SANDBOX_MAX_TIER = 3;
  @WholeNumber(16, 1_048_576) SANDBOX_MEMORY_MB = 512;
  @WholeNumber(1, 100_000) SANDBOX_PROCESSES = 64;
  @WholeNumber(1, 1_048_576) SANDBOX_TEMPORARY_MB = 64;
  @Matches(/^(auto|off|\/\S*)$/, { message: 'SANDBOX_CGROUP must be auto, off or begin with /' })
  SANDBOX_CGROUP = 'auto';
  @WholeNumber(1_000, 2_147_418_111) SANDBOX_FIRST_UID = 1_900_000_000;

  // Recording
  @IsOptional() @IsString() JOURNAL_DIR?: string;
  @WholeNumber(0, 1_099_511_627_776) JOURNAL_MAX_BYTES = 1_073_741_824;
  @IsIn(['process', 'power']) JOURNAL_DURABILITY = 'process';
  @IsIn(['refuse', 'drop']) RECORDER_WHEN_FULL = 'refuse';
  @WholeNumber(1, 10_000) RECORDER_BATCH_SIZE = 5_000;
  @WholeNumber(1, 60_000) RECORDER_FLUSH_INTERVAL_MS = 250;
  @WholeNumber(1, 3_650) METRICS_RETENTION_DAYS = 30;

  // Circuit breaker
  @WholeNumber(1, 10_000) CIRCUIT_FAILURES = 5;
  @IsNumber() @Min(0) @Max(1) @Type(() => Number) CIRCUIT_MIN_FAILURE_RATE = 0.5;
  @WholeNumber(100, 86_400_000) CIRCUIT_WINDOW_MS = 300_000;
  @WholeNumber(10, 86_400_000) CIRCUIT_OPEN_MS = 30_000;
  @WholeNumber(10, 86_400_000) CIRCUIT_MAX_OPEN_MS = 300_000;
  @WholeNumber(1, 100) CIRCUIT_PROBES = 3;

  // Health
  @WholeNumber(100, 86_400_000) HEALTH_WATCH_INTERVAL_MS = 60_000;

  // Investigations
  @WholeNumber(0, 1_000_000) INVESTIGATION_CALLS_PER_TOOL = 10;
  @IsNumber() @Min(0.001) @Max(8_760) @Type(() => Number) INVESTIGATION_TTL_HOURS = 24;
  @WholeNumber(1, 10_000_000) INVESTIGATION_MAX_TRACKED = 100_000;

  // Safe repetition
  @IsNumber() @Min(0.001) @Max(8_760) @Type(() => Number) IDEMPOTENCY_TTL_HOURS = 24;
  @WholeNumber(100, 600_000) IDEMPOTENCY_LEASE_MS = 10_000;
  @WholeNumber(1_024, 1_073_741_824) IDEMPOTENCY_MAX_OUTCOME_BYTES = 1_048_576;
  @WholeNumber(1_024, 1_099_511_627_776) RESULT_CACHE_MAX_BYTES = 67_108_864;

  // Events
  @WholeNumber(10, 100_000) EVENTS_KEPT = 1_000;
  @WholeNumber(1, 10_000) EVENTS_STREAMS = 50;
  @IsOptional() @WebUrls() WEBHOOK_URLS?: string;
  @IsOptional() @IsString() @MinLength(16) WEBHOOK_SECRET?: string;
  @IsOptional() @IsString() WEBHOOK_EVENTS?: string;
  @WholeNumber(100, 600_000) WEBHOOK_TIMEOUT_MS = 5_000;
  @WholeNumber(1, 100) WEBHOOK_MAX_ATTEMPTS = 8;
  @WholeNumber(1, 1_000_000) WEBHOOK_MAX_QUEUE = 1_000;

  // Tracing: names and values are OpenTelemetry's
  @Flag() OTEL_SDK_DISABLED = false;
  @IsOptional() @IsIn(['otlp', 'none']) OTEL_TRACES_EXPORTER?: string;
  @IsOptional() @WebUrl() OTEL_EXPORTER_OTLP_ENDPOINT?: string;
  @IsOptional() @WebUrl() OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string;
  @IsOptional() @KeyValueList() OTEL_EXPORTER_OTLP_HEADERS?: string;
  @IsIn(['http/protobuf']) OTEL_EXPORTER_OTLP_PROTOCOL = 'http/protobuf';
  @WholeNumber(1, 600_000) OTEL_EXPORTER_OTLP_TIMEOUT = 10_000;
  @IsIn(['none', 'gzip']) OTEL_EXPORTER_OTLP_COMPRESSION = 'none';
  @IsString() @IsNotEmpty() OTEL_SERVICE_NAME = 'toolkeeper';
  @IsOptional() @KeyValueList() OTEL_RESOURCE_ATTRIBUTES?: string;
  @IsIn(traceSamplers) OTEL_TRACES_SAMPLER: TraceSampler = 'parentbased_always_on';
  @IsNumber() @Min(0) @Max(1) @Type(() => Number) OTEL_TRACES_SAMPLER_ARG = 1;
  @WholeNumber(1, 3_600_000) OTEL_BSP_SCHEDULE_DELAY = 5_000;
  @WholeNumber(1, 1_000_000) OTEL_BSP_MAX_QUEUE_SIZE = 2_048;
  @WholeNumber(1, 1_000_000) OTEL_BSP_MAX_EXPORT_BATCH_SIZE = 512;

  // Playbooks
  @IsString() @IsNotEmpty() PLAYBOOKS_DIR = './playbooks';
  @WholeNumber(100, 3_600_000) PLAYBOOKS_REFRESH_INTERVAL_MS = 2_000;
  @WholeNumber(0, 86_400_000) PLAYBOOK_CACHE_TTL_MS = 3_600_000;

  // Data Storage service
  @IsOptional() @BaseUrl() DATA_STORAGE_URL?: string;
  @IsOptional() @IsString() DATA_STORAGE_TOKEN?: string;
  @WholeNumber(10, 60_000) DATA_STORAGE_TIMEOUT_MS = 2_000;
  @WholeNumber(10, 600_000) DATA_STORAGE_DEADLINE_MS = 5_000;
  @WholeNumber(0, 10) DATA_STORAGE_RETRIES = 3;
  @WholeNumber(1, 60_000) DATA_STORAGE_RETRY_PAUSE_MS = 100;
  @WholeNumber(1, 1_000) DATA_STORAGE_CONNECTIONS = 16;
  @WholeNumber(1_024, 67_108_864) DATA_STORAGE_MAX_RESPONSE_BYTES = 262_144;
  @WholeNumber(1_024, 1_073_741_824) DATA_STORAGE_CACHE_MAX_BYTES = 16_777_216;
  @WholeNumber(0, 604_800_000) DATA_STORAGE_STALE_MS = 86_400_000;
  @WholeNumber(1, 10_000) DATA_STORAGE_CIRCUIT_MIN_TRIES = 5;
  @IsNumber() @Min(0.01) @Max(1) @Type(() => Number) DATA_STORAGE_CIRCUIT_FAILURE_RATE = 0.5;
  @WholeNumber(100, 86_400_000) DATA_STORAGE_CIRCUIT_WINDOW_MS = 300_000;
  @WholeNumber(10, 86_400_000) DATA_STORAGE_CIRCUIT_OPEN_MS = 30_000;

  // Embeddings
  @IsIn(['bundled', 'lexical', 'openai', 'onnx']) EMBEDDINGS_PROVIDER = 'bundled';
  @IsOptional()
  @IsUrl({ protocols: ['http', 'https'], require_tld: false, require_protocol: true })
  EMBEDDINGS_URL?: string;
  @IsOptional() @IsString() EMBEDDINGS_MODEL?: string;
  @IsOptional() @IsString() EMBEDDINGS_API_KEY?: string;
  @WholeNumber(0, 16_384) EMBEDDINGS_DIMENSIONS = 0;
  @WholeNumber(1, 2_048) EMBEDDINGS_BATCH = 64;
  @WholeNumber(10, 600_000) EMBEDDINGS_TIMEOUT_MS = 10_000;
  @WholeNumber(10, 60_000) EMBEDDINGS_QUERY_TIMEOUT_MS = 1_000;
  @IsOptional() @IsString() EMBEDDINGS_MODEL_DIR?: string;
  @IsOptional()
  @Matches(/^-?\d(\.\d+)?,-?\d(\.\d+)?$/, { message: 'EMBEDDINGS_CALIBRATION must be floor,cut: 0.2,0.45' })
  EMBEDDINGS_CALIBRATION?: string;
  @WholeNumber(1, 100_000) EMBEDDINGS_MAX_QUEUE = 100;
  @WholeNumber(0, 86_400_000) EMBEDDINGS_IDLE_MS = 900_000;
  @WholeNumber(100, 3_600_000) EMBEDDINGS_SYNC_INTERVAL_MS = 5_000;
  @IsIn(['auto', 'memory', 'pgvector']) EMBEDDINGS_INDEX = 'auto';
}

/** Without a default: an instance does not tell them. */
const optional = [
  'DATABASE_URL',
  'ADMIN_API_KEY',
  'ALLOWED_HOSTS',
  'CUSTOM_TOOLS_ALLOWED_ROOTS',
  'CUSTOM_TOOLS_ALLOWED_ENV',
  'JOURNAL_DIR',
  'SECRETS_KEY',
  'WEBHOOK_URLS',
  'WEBHOOK_SECRET',
  'WEBHOOK_EVENTS',
  'EMBEDDINGS_URL',
  'EMBEDDINGS_MODEL',
  'EMBEDDINGS_API_KEY',
  'EMBEDDINGS_MODEL_DIR',
  'EMBEDDINGS_CALIBRATION',
  'DATA_STORAGE_URL',
  'DATA_STORAGE_TOKEN',
  'OTEL_TRACES_EXPORTER',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_RESOURCE_ATTRIBUTES',
];

export const variableNames: readonly string[] = [...Object.keys(new Environment()), ...optional];
