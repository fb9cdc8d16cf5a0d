/**
 * The import rules of the house: each module may import only what its line lists.
 * common, config, observability and tool-contract are open to the modules named below.
 */
const base = ['common', 'config', 'observability'];
/** What a controller stands on. */
const rest = [...base, 'rest', 'auth', 'tool-contract'];
const allowed = {
  common: [],
  schemas: ['common'],
  'circuits/breaker': ['common'],
  outbound: ['common', 'circuits/breaker'],
  streams: ['common'],
  config: ['common', 'outbound', 'streams'],
  observability: ['common', 'config'],
  'tool-contract': ['common', 'outbound', 'schemas'],
  rest: ['common'],
  database: [...base],
  counters: [...base, 'database'],
  jobs: [...base, 'outbound', 'database'],
  auth: [...base, 'rest', 'tool-contract', 'database', 'counters'],
  'process-pool': [...base],
  sandbox: [...base, 'outbound'],
  secrets: ['common', 'config', 'rest', 'tool-contract', 'process-pool'],
  'semantic-errors': ['common'],
  'lexical-search': ['common'],
  'records/journal': [...base, 'database'],
  'records/executions': [...rest, 'database', 'records/journal', 'semantic-errors'],
  circuits: [...rest, 'circuits/breaker', 'counters', 'database', 'records/executions'],
  'tool-health': [...rest, 'database', 'records/executions', 'circuits'],
  'records/spans': [
    ...rest,
    'database',
    'streams',
    'semantic-errors',
    'records/journal',
    'records/executions',
    'tool-health',
  ],
  budgets: [...rest, 'database', 'counters'],
  repetition: [...base, 'tool-contract', 'database'],
  llm: [...base, 'outbound', 'secrets'],
  platforms: ['common', 'schemas', 'tool-contract'],
  tools: [
    ...rest,
    'database',
    'streams',
    'schemas',
    'platforms',
    'records/executions',
    'circuits',
    'tool-health',
    'budgets',
    'jobs',
    'repetition',
    'lexical-search',
  ],
  'mcp/client': ['common', 'outbound', 'tool-contract', 'schemas', 'process-pool'],
  'mcp/server': [...rest, 'streams', 'schemas', 'platforms', 'tools'],
  'custom-tools': [
    ...rest,
    'database',
    'outbound',
    'streams',
    'schemas',
    'process-pool',
    'sandbox',
    'secrets',
    'tools',
    'mcp/client',
  ],
  'builtin-tools': [...base, 'database', 'tool-contract', 'outbound', 'schemas', 'tools'],
  'trace-tools': [
    ...base,
    'tool-contract',
    'database',
    'auth',
    'outbound',
    'schemas',
    'llm',
    'semantic-errors',
    'records/executions',
    'records/spans',
    'tools',
  ],
  experiments: [...rest, 'database', 'outbound', 'llm', 'records/spans'],
  'ui-bridge': [...rest, 'database', 'streams', 'schemas', 'tools'],
  assistant: [...rest, 'outbound', 'streams', 'schemas', 'llm', 'platforms', 'records/spans', 'tools'],
  playbooks: [...rest, 'database'],
  'playbook-search': [
    ...rest,
    'database',
    'outbound',
    'schemas',
    'circuits/breaker',
    'records/executions',
    'repetition',
    'lexical-search',
    'tools',
    'playbooks',
  ],
  events: [...rest, 'database', 'streams', 'jobs', 'circuits/breaker', 'circuits', 'tool-health'],
  health: [...rest, 'database'],
  http: [...base, 'rest', 'auth', 'app.module.ts'],
  console: [...base, 'rest', 'auth'],
  cli: ['common', 'process-pool', 'database', 'jobs'],
};

/** What stands at the root of src: the start, and the list of modules. */
const root = {
  'main.ts': ['common', 'config', 'auth', 'http'],
  'lifecycle.module.ts': ['common', 'config', 'streams'],
  'app.module.ts': [
    ...Object.keys(allowed).filter((room) => !['http', 'cli'].includes(room)),
    'lifecycle.module.ts',
  ],
};

/** The sub-folders of custom-tools, from the ground up: each may import those that its line lists. */
const layers = {
  entity: [],
  commands: ['entity'],
  bundles: ['entity', 'commands'],
  logs: ['entity'],
  launch: ['entity', 'bundles', 'commands'],
  running: ['entity', 'commands', 'logs', 'launch'],
  manager: ['entity', 'bundles', 'commands', 'logs', 'launch', 'running'],
  http: ['entity', 'bundles', 'commands', 'logs', 'launch', 'running', 'manager'],
};

/** A room within a room has a rule of its own. */
const roomsWithin = (room) =>
  Object.keys(allowed)
    .filter((other) => other.startsWith(`${room}/`))
    .map((other) => `^src/${other}/`);

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
      from: { path: '^src/', pathNot: '^src/observability/tracing/' },
      to: { path: 'node_modules/@opentelemetry/' },
    },
    {
      name: 'telemetry-only-when-wanted',
      comment: 'Where traces are off, nothing of the SDK is loaded.',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^src/observability/tracing/start-tracing', dynamic: false },
    },
    {
      name: 'ai-sdk-with-the-first-turn',
      comment: 'A server without a language model loads nothing of the SDK.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: 'node_modules/(ai|@ai-sdk)/', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'cli-starts-alone',
      comment: 'The command line answers at once: nothing of the server is loaded with it.',
      severity: 'error',
      from: { path: '^src/cli/', pathNot: '^src/cli/(main|program|backup/restore)\\.ts$' },
      to: { path: 'node_modules/(@nestjs|typeorm|fastify|rxjs|pino)/', reachable: true },
    },
    {
      name: 'restore-when-asked',
      comment: "A restore migrates, by the server's own code; no other command loads that.",
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/cli/backup/restore', dynamic: false },
    },
    ...Object.entries(allowed).map(([room, may]) => ({
      name: `${room}-imports`,
      comment: `${room} may import only: ${may.join(', ') || 'nothing of ours'}.`,
      severity: 'error',
      from: { path: `^src/${room}/`, pathNot: ['\\.spec\\.ts$', ...roomsWithin(room)] },
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
      from: { path: `^src/custom-tools/${layer}/`, pathNot: '\\.spec\\.ts$' },
      to: { path: '^src/custom-tools/', pathNot: `^src/custom-tools/(${[layer, ...may].join('|')})/` },
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
        path: '^src/custom-tools/',
        pathNot: `^src/custom-tools/((${Object.keys(layers).join('|')})/|custom-tools\\.module\\.ts$)`,
      },
      to: {},
    },
    {
      name: 'every-room-has-a-rule',
      comment: 'A new folder or root file of src needs its line in the tables above.',
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
