/**
 * The import rules of the house: each module may import only what its line lists.
 * common, config, observability and tool-contract are open to the modules named below.
 */
const base = ['common', 'config', 'observability'];
const allowed = {
  common: [],
  config: ['common'],
  observability: ['common', 'config'],
  'tool-contract': ['common'],
  database: [...base],
  auth: [...base, 'tool-contract', 'database'],
  'process-pool': ['common'],
  sandbox: [...base],
  journal: [...base],
  'tool-metrics': [...base, 'tool-contract', 'database', 'auth', 'journal', 'semantic-errors'],
  'tool-health': [...base, 'tool-contract', 'database', 'auth', 'tool-metrics'],
  traces: [
    ...base,
    'tool-contract',
    'database',
    'auth',
    'journal',
    'tool-metrics',
    'tool-health',
    'semantic-errors',
  ],
  investigations: [...base, 'tool-contract', 'database', 'auth'],
  repetition: [...base, 'tool-contract', 'database'],
  'lexical-search': ['common'],
  'semantic-errors': ['common'],
  llm: [...base],
  tools: [
    ...base,
    'tool-contract',
    'auth',
    'tool-metrics',
    'tool-health',
    'investigations',
    'repetition',
    'lexical-search',
  ],
  'custom-tools': [...base, 'tool-contract', 'database', 'auth', 'process-pool', 'sandbox', 'tools'],
  'builtin-tools': [...base, 'tool-contract', 'tools'],
  'trace-tools': [
    ...base,
    'tool-contract',
    'database',
    'auth',
    'llm',
    'semantic-errors',
    'tool-metrics',
    'tools',
    'traces',
  ],
  experiments: [...base, 'database', 'auth', 'llm', 'traces'],
  mcp: [...base, 'tool-contract', 'auth', 'tools'],
  playbooks: [...base, 'tool-contract', 'database', 'auth'],
  'playbook-search': [
    ...base,
    'tool-contract',
    'database',
    'auth',
    'tool-metrics',
    'repetition',
    'lexical-search',
    'tools',
    'playbooks',
  ],
  events: [...base, 'auth', 'tool-health'],
  health: [...base, 'auth'],
  http: [...base, 'auth', 'app.module.ts'],
  console: [...base, 'auth'],
  client: [],
  cli: ['common', 'client'],
};

/** What stands at the root of src: the start, and the list of modules. */
const root = {
  'main.ts': ['common', 'config', 'auth', 'http'],
  'app.module.ts': Object.keys(allowed).filter((room) => !['http', 'client', 'cli'].includes(room)),
};

/** The sub-folders of custom-tools, from the ground up: each may import those that its line lists. */
const layers = {
  mcp: [],
  entity: ['mcp'],
  secrets: ['entity'],
  commands: ['entity', 'secrets'],
  bundles: ['entity', 'commands'],
  logs: ['entity', 'secrets'],
  launch: ['entity', 'mcp', 'secrets', 'bundles', 'commands'],
  running: ['entity', 'mcp', 'secrets', 'commands', 'logs', 'launch'],
  manager: ['entity', 'mcp', 'secrets', 'bundles', 'commands', 'logs', 'launch', 'running'],
  http: ['entity', 'mcp', 'secrets', 'bundles', 'commands', 'logs', 'launch', 'running', 'manager'],
};

/** The folders of the console, from the ground up. */
const consoleLayers = {
  lib: [],
  ui: ['lib'],
  app: ['lib', 'ui'],
  features: ['lib', 'ui', 'app'],
  routes: ['lib', 'ui', 'app', 'features'],
};

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'A cycle hides who owns what.',
      severity: 'error',
      // The client stands as it is generated.
      from: { pathNot: '^src/client/' },
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
      name: 'cli-starts-alone',
      comment: 'The command line answers at once: nothing of the server is loaded with it.',
      severity: 'error',
      from: { path: '^src/cli/' },
      to: { path: 'node_modules/(@nestjs|typeorm|fastify|rxjs|pino)/', reachable: true },
    },
    ...Object.entries(allowed).map(([room, may]) => ({
      name: `${room}-imports`,
      comment: `${room} may import only: ${may.join(', ') || 'nothing of ours'}.`,
      severity: 'error',
      from: { path: `^src/${room}/`, pathNot: '\\.spec\\.ts$' },
      to: { path: '^src/', pathNot: `^src/(${[room, ...may].join('|')})(/|$)` },
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
      to: { path: '^src/', pathNot: `^src/(${may.join('|')})/` },
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
      to: { path: '^(src|migrations|test)/', pathNot: '^src/client/' },
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
