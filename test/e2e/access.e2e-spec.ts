import { startApp, type TestApp } from '../support/app.js';

// real: the whole server, HTTP; mock: nothing

/**
 * Who may ask what of a server on loopback that was given no key. `probe`: everybody, also where a key was configured;
 * `anyone`: also without a key; `key`: with the key alone.
 */
const access: Readonly<Record<string, 'probe' | 'anyone' | 'key'>> = {
  'GET /livez': 'probe',
  'GET /readyz': 'probe',
  'GET /startupz': 'probe',
  'GET /metrics': 'anyone',
  'GET /openapi.json': 'anyone',
  'GET /': 'anyone',
  'GET /docs': 'anyone',
  'GET /docs/': 'anyone',
  'GET /docs/*': 'anyone',
  'GET /docs/LICENSE': 'anyone',
  'GET /docs/index.html': 'anyone',
  'GET /docs/swagger-ui-init.js': 'anyone',
  'GET /docs/docs/swagger-ui-init.js': 'anyone',
  'GET /docs-yaml': 'anyone',

  'GET /api/v1/tools': 'anyone',
  'GET /api/v1/tools/:name': 'anyone',
  'POST /api/v1/tools/:name/execute': 'anyone',
  'POST /api/v1/tool-calls': 'anyone',

  'GET /api/v1/custom-tools': 'anyone',
  'POST /api/v1/custom-tools': 'key',
  'GET /api/v1/custom-tools/:name': 'anyone',
  'PATCH /api/v1/custom-tools/:name': 'key',
  'DELETE /api/v1/custom-tools/:name': 'key',
  'POST /api/v1/custom-tools/:name/enable': 'key',
  'POST /api/v1/custom-tools/:name/disable': 'key',
  'POST /api/v1/custom-tools/:name/validate': 'key',
  'POST /api/v1/custom-tools/:name/test': 'key',
  'POST /api/v1/custom-tools/:name/rollback': 'key',
  'GET /api/v1/custom-tools/:name/tools': 'key',
  'POST /api/v1/custom-tools/:name/approve': 'key',
  'GET /api/v1/custom-tools/:name/health': 'anyone',
  'GET /api/v1/custom-tools/:name/logs': 'key',
  'GET /api/v1/custom-tools/:name/revisions': 'anyone',
  'GET /api/v1/custom-tools/:name/revisions/:revision': 'anyone',
  'GET /api/v1/custom-tools/:name/revisions/:revision/diff': 'anyone',

  'DELETE /api/v1/tool-metrics': 'key',
  'GET /api/v1/tool-metrics/stats/:tool': 'anyone',
  'GET /api/v1/tool-metrics/errors': 'anyone',
  'GET /api/v1/tool-metrics/slow': 'anyone',
  'GET /api/v1/tool-metrics/executions': 'anyone',
  'GET /api/v1/tool-metrics/executions/:id': 'anyone',
  'POST /api/v1/tool-metrics/executions/:id/semantic-failure': 'key',
  'DELETE /api/v1/tool-metrics/executions/:id/semantic-failure': 'key',
  'GET /api/v1/tool-metrics/duplicates': 'anyone',
  'GET /api/v1/tool-metrics/tools': 'anyone',

  'GET /api/v1/tool-health': 'anyone',
  'GET /api/v1/tool-health/dashboard': 'anyone',
  'GET /api/v1/tool-health/summary': 'anyone',
  'GET /api/v1/tool-health/:tool': 'anyone',
  'GET /api/v1/tool-health/:tool/error-patterns': 'anyone',
  'GET /api/v1/tool-health/:tool/info': 'anyone',
  'GET /api/v1/tool-health/:tool/circuit': 'anyone',
  'GET /api/v1/tool-health/:tool/circuit/advice': 'anyone',
  'POST /api/v1/tool-health/:tool/circuit/open': 'key',
  'POST /api/v1/tool-health/:tool/circuit/close': 'key',
  'POST /api/v1/tool-health/:tool/circuit/reset': 'key',

  'GET /api/v1/investigations/:id': 'anyone',
  'PATCH /api/v1/investigations/:id': 'key',
  'DELETE /api/v1/investigations/:id': 'key',

  'GET /api/v1/playbooks': 'anyone',
  'POST /api/v1/playbooks': 'key',
  'POST /api/v1/playbooks/import': 'key',
  'GET /api/v1/playbooks/search': 'anyone',
  'GET /api/v1/playbooks/shown': 'anyone',
  'GET /api/v1/playbooks/:id/versions': 'anyone',
  'GET /api/v1/playbooks/:id/versions/:version': 'anyone',
  'GET /api/v1/playbooks/:id/versions/:version/diff/:to': 'anyone',
  // Agents tell what came of a playbook.
  'POST /api/v1/playbooks/:id/versions/:version/outcomes': 'anyone',
  'PATCH /api/v1/playbooks/:id/:version/enable': 'key',
  'PATCH /api/v1/playbooks/:id/:version/disable': 'key',
  'PATCH /api/v1/playbooks/:id/:version/deprecate': 'key',
  'PATCH /api/v1/playbooks/:id/:version/archive': 'key',

  'GET /api/v1/events': 'anyone',

  'GET /mcp': 'anyone',
  'POST /mcp': 'anyone',
  'DELETE /mcp': 'anyone',
};
const rows = Object.entries(access).map(([route, who]) => {
  const [method = '', path = ''] = route.split(' ');
  return { route, method, path: path.replace(/:\w+/g, '1').replace('*', 'x'), who };
});

let tk: TestApp;
let guarded: TestApp;
beforeAll(async () => {
  tk = await startApp();
  guarded = await startApp({ ADMIN_API_KEY: 'a-key-of-enough-length' });
});
afterAll(() => Promise.all([tk.close(), guarded.close()]));

/** Every route that there is, as `GET /path/:name`, from Fastify's own tree of them. */
function routesOf({ app }: TestApp): string[] {
  const above: string[] = [];
  const tree: string = app.getHttpAdapter().getInstance().printRoutes({ commonPrefix: false });
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', own = '', methods = ''] = /^([│ ]*)[├└]── (\S+) \((.*)\)$/.exec(line) ?? [];
    const depth = indent.length / 4;
    // Two routes may name the same place differently.
    above.splice(depth, Infinity, own.replace(/\|:\w+/, ''));
    return methods
      .split(', ')
      .filter((method) => method !== '' && method !== 'HEAD')
      .map((method) => `${method} ${above.join('')}`);
  });
}

const ask = async (agent: TestApp['http'], method: string, path: string): Promise<number> => {
  const name = method.toLowerCase() as 'get' | 'head' | 'post' | 'patch' | 'delete';
  const request = agent[name](path);
  return (await (['get', 'head'].includes(name) ? request : request.send({}))).status;
};
const refused = (status: number): boolean => status === 401 || status === 403;

it('the table has each route of the server, and no other', () => {
  expect(routesOf(tk).sort()).toEqual(Object.keys(access).sort());
});

describe.each(rows)('$route ($who)', ({ method, path, who }) => {
  it('asks those for the key who need it', async () => {
    const anonymous = await ask(tk.anonymous, method, path);
    expect(who === 'key' ? anonymous : refused(anonymous)).toBe(who === 'key' ? 401 : false);
    if (method === 'GET') expect(await ask(tk.anonymous, 'HEAD', path)).toBe(anonymous);
    expect(refused(await ask(tk.http, method, path))).toBe(false);
  });

  it('asks everybody but probes where a key was configured', async () => {
    const anonymous = await ask(guarded.anonymous, method, path);
    expect(who === 'probe' ? refused(anonymous) : anonymous).toBe(who === 'probe' ? false : 401);
    expect(refused(await ask(guarded.http, method, path))).toBe(false);
  });
});
