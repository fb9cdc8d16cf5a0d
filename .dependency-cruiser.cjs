/** The wings of src, from the ground up: each may import itself and those before it. */
const wings = ['base', 'web', 'records', 'call', 'runtime', 'insight', 'agents', 'edge'];

/**
 * The rooms of each wing, from the ground up. A room may import what its line lists: a room of its own wing by its name, another
 * wing's by its path.
 */
const base = ['base/common', 'base/config', 'base/observability'];
/** What a controller stands on. */
const rest = [...base, 'web/rest', 'web/auth', 'web/contract'];
const allowed = {
  'base/common': [],
  'base/schemas': ['base/common'],
  'base/outbound': ['base/common'],
  'base/streams': ['base/common'],
  'base/semantic-errors': ['base/common'],
  'base/lexical-search': ['base/common'],
  'base/config': ['base/common', 'base/outbound', 'base/streams'],
  'base/observability': ['base/common', 'base/config'],
  'base/database': [...base],
  'base/counters': [...base, 'base/database'],
  'base/jobs': [...base, 'base/outbound', 'base/database'],

  'web/rest': ['base/common'],
  'web/contract': ['base/common', 'base/outbound', 'base/schemas'],
  'web/auth': [...base, 'web/rest', 'web/contract', 'base/database', 'base/counters', 'base/outbound'],

  'records/journal': [...base, 'base/database'],
  'records/executions': [...rest, 'base/database', 'base/semantic-errors', 'records/journal'],
  'records/spans': [
    ...rest,
    'base/database',
    'base/streams',
    'base/semantic-errors',
    'records/journal',
    'records/executions',
  ],

  'call/circuits': [...rest, 'base/outbound', 'base/counters', 'base/database', 'records/executions'],
  'call/budgets': [...rest, 'base/database', 'base/counters'],
  'call/repetition': [...base, 'web/contract', 'base/database'],
  'call/platforms': ['base/common', 'base/schemas', 'web/contract'],
  'call/door': [
    ...rest,
    'base/database',
    'base/counters',
    'base/streams',
    'base/schemas',
    'base/jobs',
    'base/lexical-search',
    'records/executions',
    'call/platforms',
    'call/circuits',
    'call/budgets',
    'call/repetition',
  ],

  'runtime/process-pool': [...base],
  'runtime/sandbox': [...base, 'base/outbound'],
  'runtime/secrets': ['base/common', 'base/config', 'web/rest', 'web/contract', 'runtime/process-pool'],
  'runtime/mcp-client': [
    'base/common',
    'base/outbound',
    'base/schemas',
    'web/contract',
    'runtime/process-pool',
  ],
  'runtime/custom-tools': [
    ...rest,
    'base/database',
    'base/outbound',
    'base/streams',
    'base/schemas',
    'call/door',
    'call/platforms',
    'runtime/process-pool',
    'runtime/sandbox',
    'runtime/secrets',
    'runtime/mcp-client',
  ],
  'runtime/builtin-tools': [
    ...base,
    'base/database',
    'base/outbound',
    'base/schemas',
    'web/contract',
    'call/door',
  ],

  'insight/tool-health': [...rest, 'base/outbound', 'base/database', 'records/executions', 'call/circuits'],
  'insight/events': [
    ...rest,
    'base/database',
    'base/outbound',
    'base/streams',
    'base/jobs',
    'call/circuits',
    'insight/tool-health',
  ],

  'agents/llm': [...base, 'base/outbound', 'runtime/secrets'],
  'agents/playbooks': [...rest, 'base/database'],
  'agents/playbook-search': [
    ...rest,
    'base/database',
    'base/outbound',
    'base/schemas',
    'base/lexical-search',
    'records/executions',
    'call/repetition',
    'call/door',
    'agents/playbooks',
  ],
  'agents/trace-tools': [
    ...base,
    'call/circuits',
    'insight/tool-health',
    'base/database',
    'base/outbound',
    'base/schemas',
    'base/semantic-errors',
    'web/auth',
    'web/contract',
    'records/executions',
    'records/spans',
    'call/door',
    'agents/llm',
  ],
  'agents/experiments': [...rest, 'base/database', 'base/outbound', 'records/spans', 'agents/llm'],
  'agents/ui-bridge': [...rest, 'base/database', 'base/streams', 'base/schemas', 'call/door'],
  'agents/assistant': [
    ...rest,
    'base/outbound',
    'base/streams',
    'base/schemas',
    'records/spans',
    'call/platforms',
    'call/door',
    'agents/llm',
  ],

  'edge/mcp-server': [
    ...[...rest, 'base/database', 'base/streams', 'base/schemas', 'call/platforms', 'call/door'],
    'runtime/mcp-client',
    'agents/playbooks',
  ],
  'edge/health': [...rest, 'base/database'],
  'edge/grpc': [...rest, 'records/executions', 'call/circuits', 'insight/tool-health', 'edge/health'],
  'edge/console': [...base, 'web/rest', 'web/auth'],
  'edge/http': [...base, 'base/streams', 'web/rest', 'web/auth', 'app.module.ts'],

  cli: ['base/common', 'base/database', 'base/jobs', 'runtime/process-pool', 'runtime/custom-tools'],
};

/** What stands at the root of src: the start, and the list of modules. */
const root = {
  'main.ts': ['base', 'web/auth', 'edge/http'],
  'app.module.ts': wings,
};

/** The sub-folders of custom-tools, from the ground up: each may import those that its line lists. */
const layers = {
  entity: [],
  accounts: [],
  commands: ['entity'],
  bundles: ['entity', 'commands'],
  logs: ['entity'],
  launch: ['entity', 'accounts', 'bundles', 'commands'],
  running: ['entity', 'accounts', 'commands', 'logs', 'launch'],
  state: ['entity', 'logs', 'running'],
  manager: ['entity', 'accounts', 'bundles', 'commands', 'logs', 'launch', 'running', 'state'],
  http: ['entity', 'accounts', 'bundles', 'commands', 'logs', 'launch', 'running', 'state', 'manager'],
};

/** The folders of the console, from the ground up. */
const consoleLayers = {
  lib: [],
  ui: ['lib'],
  bridge: ['lib', 'ui'],
  app: ['lib', 'ui', 'bridge'],
  features: ['lib', 'ui', 'bridge', 'app'],
  routes: ['lib', 'ui', 'bridge', 'app', 'features'],
};

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'A cycle hides who owns what.',
      severity: 'error',
      // The client stands as it is generated.
      from: { pathNot: '^client/' },
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'A file that nothing imports is dead.',
      severity: 'error',
      from: { orphan: true, path: '^src/', pathNot: ['\\.spec\\.ts$', '^src/main\\.ts$'] },
      to: {},
    },
    {
      name: 'not-to-test',
      comment: 'The product never imports its tests.',
      severity: 'error',
      from: { path: '^src', pathNot: '\\.spec\\.ts$' },
      to: { path: ['^test', '\\.spec\\.ts$'] },
    },
    {
      name: 'not-to-dev-dep',
      comment: 'What runs in production is a dependency, not a devDependency.',
      severity: 'error',
      from: { path: '^(src|migrations)', pathNot: '\\.spec\\.ts$' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'telemetry-behind-its-port',
      comment: 'Everybody else asks for a Tracer.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/base/observability/tracing/' },
      to: { path: 'node_modules/@opentelemetry/' },
    },
    {
      name: 'telemetry-only-when-wanted',
      comment: 'Where traces are off, nothing of the SDK is loaded.',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^src/base/observability/tracing/start-tracing', dynamic: false },
    },
    {
      name: 'ai-sdk-with-the-first-turn',
      comment: 'A server without a language model loads nothing of the SDK.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: 'node_modules/(ai|@ai-sdk)/', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'grpc-only-when-wanted',
      comment: 'A server without GRPC_PORT loads nothing of gRPC.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/edge/grpc/' },
      to: { path: '^src/edge/grpc/|node_modules/(@grpc|grpc-health-check)/', dynamic: false },
    },
    {
      name: 'cli-starts-alone',
      comment: 'The command line answers at once: nothing of the server is loaded with it.',
      severity: 'error',
      from: { path: '^src/cli/', pathNot: '^src/cli/(main|program|backup/restore|dev/dev)\\.ts$' },
      to: { path: 'node_modules/(@nestjs|typeorm|fastify|rxjs|pino)/', reachable: true },
    },
    {
      name: 'restore-when-asked',
      comment: "A restore migrates, by the server's own code; no other command loads that.",
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/cli/backup/restore', dynamic: false },
    },
    ...wings.map((wing, floor) => ({
      name: `wing-${wing}-imports`,
      comment: `${wing} imports no wing above it: ${wings.slice(floor + 1).join(', ') || 'none'}.`,
      severity: 'error',
      from: { path: `^src/${wing}/`, pathNot: '\\.spec\\.ts$' },
      to: { path: `^src/(${[...wings.slice(floor + 1), 'cli'].join('|')})/` },
    })),
    ...Object.entries(allowed).map(([room, may]) => ({
      name: `${room}-imports`,
      comment: `${room} may import only: ${may.join(', ') || 'nothing of ours'}.`,
      severity: 'error',
      from: { path: `^src/${room}/`, pathNot: '\\.spec\\.ts$' },
      to: {
        path: '^(src|client)/',
        pathNot:
          room === 'cli'
            ? `^(client|src/(${[room, ...may].join('|')}))(/|$)`
            : `^src/(${[room, ...may].join('|')})(/|$)`,
      },
    })),
    ...Object.entries(layers).map(([layer, may]) => ({
      name: `custom-tools-${layer}-imports`,
      comment: `Of custom-tools, ${layer} may import only: ${may.join(', ') || 'itself'}.`,
      severity: 'error',
      from: { path: `^src/runtime/custom-tools/${layer}/`, pathNot: '\\.spec\\.ts$' },
      to: {
        path: '^src/runtime/custom-tools/',
        pathNot: `^src/runtime/custom-tools/(${[layer, ...may].join('|')})/`,
      },
    })),
    ...Object.entries(root).map(([file, may]) => ({
      name: `${file}-imports`,
      comment: `${file} may import only: ${may.join(', ')}.`,
      severity: 'error',
      from: { path: `^src/${file}$` },
      to: { path: '^src/', pathNot: `^src/(${may.join('|')})(/|$)` },
    })),
    {
      name: 'console-speaks-http',
      comment: 'The console knows the server by the generated client alone, which lib/api.ts hands on.',
      severity: 'error',
      from: { path: '^console/', pathNot: '^console/src/lib/api\\.ts$' },
      to: { path: '^(src|migrations|test)/' },
    },
    {
      name: 'console-client-alone',
      comment: 'The console knows the server by the generated client alone.',
      severity: 'error',
      from: { path: '^console/src/lib/api\\.ts$' },
      to: { path: '^(src|migrations|test)/', pathNot: '^client/' },
    },
    {
      name: 'server-without-console',
      comment: 'The server knows nothing of the console but its built files.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^console/' },
    },
    ...Object.entries(consoleLayers).map(([layer, may]) => ({
      name: `console-${layer}-imports`,
      comment: `Of the console, ${layer} may import only: ${may.join(', ') || 'itself'}.`,
      severity: 'error',
      from: { path: `^console/src/${layer}/` },
      to: { path: '^console/src/', pathNot: `^console/src/(${[layer, ...may].join('|')})/` },
    })),
    {
      name: 'console-features-apart',
      comment: 'A screen is one folder: what two screens need stands in ui or lib.',
      severity: 'error',
      from: { path: '^console/src/features/([^/]+)/' },
      to: { path: '^console/src/features/', pathNot: '^console/src/features/$1/' },
    },
    {
      name: 'custom-tools-has-layers',
      comment:
        'A new folder of custom-tools needs its line in the table above; beside them stands the module alone.',
      severity: 'error',
      from: {
        path: '^src/runtime/custom-tools/',
        pathNot: `^src/runtime/custom-tools/((${Object.keys(layers).join('|')})/|custom-tools\\.module\\.ts$)`,
      },
      to: {},
    },
    {
      name: 'every-room-has-a-rule',
      comment: 'A new room or root file of src needs its line in the tables above.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: `^src/((${Object.keys(allowed).join('|')})/|(${Object.keys(root).join('|')})$)`,
      },
      to: {},
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
