import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import { type BrowserSession, signIn } from '../support/browser-session.js';

// real: the whole server, HTTP; mock: nothing

const scopes = [
  'tools:call',
  'tools:admin',
  'metrics:read',
  'playbooks:write',
  'traces:write',
  'traces:read',
  'experiments:write',
  'audit:read',
  'admin',
] as const;
type Scope = (typeof scopes)[number];

/** A scope opens what needs it, and what these need. */
const including: Partial<Record<Scope, readonly Scope[]>> = {
  admin: scopes,
  'tools:admin': ['tools:call', 'metrics:read'],
};
/** What a server on loopback that was given no key lets everybody do. */
const ofAnonymous: readonly Scope[] = ['tools:call', 'metrics:read', 'traces:write', 'traces:read'];

/**
 * What each route needs. `probe`: nothing, also where a key was configured; `anyone`: to be let in, with any key or
 * without.
 */
const access: Readonly<Record<string, 'probe' | 'anyone' | Scope>> = {
  'GET /livez': 'probe',
  'GET /readyz': 'probe',
  'GET /startupz': 'probe',
  'GET /': 'probe',
  'GET /console': 'probe',
  'GET /console/*': 'probe',
  'GET /console/assets/:name': 'probe',
  'GET /client-metadata.json': 'probe',
  'GET /accounts/sign-in': 'probe',
  'GET /accounts/sign-in/go': 'probe',
  'GET /accounts/callback': 'probe',
  'GET /.well-known/oauth-protected-resource': 'probe',
  'GET /.well-known/oauth-protected-resource/mcp': 'probe',
  'OPTIONS /.well-known/oauth-protected-resource': 'probe',
  'OPTIONS /.well-known/oauth-protected-resource/mcp': 'probe',
  'OPTIONS /.well-known/oauth-authorization-server': 'probe',
  'OPTIONS /.well-known/openid-configuration': 'probe',
  'OPTIONS /oauth/register': 'probe',
  'OPTIONS /oauth/token': 'probe',
  'GET /.well-known/oauth-authorization-server': 'probe',
  'GET /.well-known/openid-configuration': 'probe',
  'GET /oauth/authorize': 'probe',
  'GET /oauth/callback': 'probe',
  'GET /oauth/continue': 'probe',
  'POST /oauth/register': 'probe',
  'POST /oauth/token': 'probe',
  'GET /metrics': 'metrics:read',
  'GET /openapi.json': 'anyone',
  'GET /docs': 'anyone',
  'GET /docs/*': 'anyone',
  'GET /docs/LICENSE': 'anyone',
  'GET /docs/index.html': 'anyone',
  'GET /docs/swagger-ui-init.js': 'anyone',
  'GET /docs/docs/swagger-ui-init.js': 'anyone',
  'GET /docs-yaml': 'anyone',

  'GET /api/v1/tools': 'tools:call',
  'GET /api/v1/tools/:name': 'tools:call',
  'POST /api/v1/tools/:name/execute': 'tools:call',
  'POST /api/v1/tool-calls': 'tools:call',
  'GET /api/v1/resources': 'tools:call',
  'GET /api/v1/resources/read': 'tools:call',
  'GET /api/v1/prompts': 'tools:call',
  'POST /api/v1/prompts/:name': 'tools:call',
  'POST /api/v1/questions/:id': 'tools:call',
  'GET /mcp/:server': 'tools:call',
  'POST /mcp/:server': 'tools:call',
  'DELETE /mcp/:server': 'tools:call',
  'GET /api/v1/mcp-servers': 'tools:admin',
  'POST /api/v1/mcp-servers': 'tools:admin',
  'GET /api/v1/mcp-servers/:name': 'tools:admin',
  'PATCH /api/v1/mcp-servers/:name': 'tools:admin',
  'DELETE /api/v1/mcp-servers/:name': 'tools:admin',

  'GET /api/v1/templates': 'metrics:read',
  'GET /api/v1/custom-tools': 'metrics:read',
  'POST /api/v1/custom-tools': 'tools:admin',
  'POST /api/v1/custom-tools/try': 'tools:admin',
  'POST /api/v1/custom-tools/:name/try': 'tools:admin',
  'GET /api/v1/custom-tools/:name': 'metrics:read',
  'PATCH /api/v1/custom-tools/:name': 'tools:admin',
  'DELETE /api/v1/custom-tools/:name': 'tools:admin',
  'POST /api/v1/custom-tools/:name/enable': 'tools:admin',
  'POST /api/v1/custom-tools/:name/disable': 'tools:admin',
  'POST /api/v1/custom-tools/:name/validate': 'tools:admin',
  'POST /api/v1/custom-tools/:name/test': 'tools:admin',
  'POST /api/v1/custom-tools/:name/rollback': 'tools:admin',
  'POST /api/v1/custom-tools/:name/revisions/:revision/try': 'tools:admin',
  'GET /api/v1/custom-tools/:name/tools': 'metrics:read',
  'GET /api/v1/custom-tools/:name/bundle': 'metrics:read',
  'GET /api/v1/custom-tools/:name/bundle/files': 'tools:admin',
  'POST /api/v1/custom-tools/:name/bundle': 'tools:admin',
  'POST /api/v1/custom-tools/:name/bundle/try': 'tools:admin',
  'PUT /api/v1/custom-tools/:name/bundle': 'tools:admin',
  'POST /api/v1/custom-tools/:name/approve': 'tools:admin',
  'GET /api/v1/custom-tools/:name/health': 'metrics:read',
  'GET /api/v1/custom-tools/:name/logs': 'tools:admin',
  // For other replicas, by their signature: it is 404 for everybody else.
  'GET /api/v1/custom-tools/:name/logs/own': 'probe',
  'GET /api/v1/custom-tools/:name/revisions': 'metrics:read',
  'GET /api/v1/custom-tools/:name/revisions/:revision': 'metrics:read',
  'GET /api/v1/custom-tools/:name/revisions/:revision/diff': 'metrics:read',

  'DELETE /api/v1/tool-metrics': 'tools:admin',
  'GET /api/v1/tool-metrics/stats/:tool': 'metrics:read',
  'GET /api/v1/tool-metrics/series': 'metrics:read',
  'GET /api/v1/tool-metrics/errors': 'metrics:read',
  'GET /api/v1/tool-metrics/slow': 'metrics:read',
  'GET /api/v1/tool-metrics/executions': 'metrics:read',
  'POST /api/v1/executions/:id/answers': 'tools:call',
  'GET /api/v1/tool-metrics/executions/:id': 'metrics:read',
  'GET /api/v1/tool-metrics/executions/:id/payload': 'tools:admin',
  'POST /api/v1/tool-metrics/executions/:id/replay': 'tools:admin',
  'POST /api/v1/tool-metrics/executions/:id/semantic-failure': 'tools:admin',
  'DELETE /api/v1/tool-metrics/executions/:id/semantic-failure': 'tools:admin',
  'GET /api/v1/tool-metrics/callers': 'metrics:read',
  'GET /api/v1/tool-metrics/duplicates': 'metrics:read',
  'GET /api/v1/tool-metrics/tools': 'metrics:read',

  'GET /api/v1/tool-health': 'metrics:read',
  'GET /api/v1/tool-health/dashboard': 'metrics:read',
  'GET /api/v1/tool-health/summary': 'metrics:read',
  'GET /api/v1/tool-health/circuits': 'metrics:read',
  'GET /api/v1/tool-health/:tool': 'metrics:read',
  'GET /api/v1/tool-health/:tool/history': 'metrics:read',
  'GET /api/v1/tool-health/:tool/error-patterns': 'metrics:read',
  'GET /api/v1/tool-health/:tool/info': 'metrics:read',
  'GET /api/v1/tool-health/:tool/circuit': 'metrics:read',
  'GET /api/v1/tool-health/:tool/circuit/advice': 'metrics:read',
  'POST /api/v1/tool-health/:tool/circuit/open': 'tools:admin',
  'POST /api/v1/tool-health/:tool/circuit/close': 'tools:admin',
  'POST /api/v1/tool-health/:tool/circuit/reset': 'tools:admin',

  'GET /api/v1/investigations': 'metrics:read',
  'GET /api/v1/investigations/:id': 'tools:call',
  'PATCH /api/v1/investigations/:id': 'tools:admin',
  'DELETE /api/v1/investigations/:id': 'tools:admin',

  'GET /api/v1/playbooks': 'tools:call',
  'POST /api/v1/playbooks': 'playbooks:write',
  'POST /api/v1/playbooks/import': 'playbooks:write',
  'GET /api/v1/playbooks/search': 'tools:call',
  'GET /api/v1/playbooks/shown': 'tools:call',
  'GET /api/v1/projects': 'anyone',
  'GET /api/v1/playbooks/:id/versions': 'tools:call',
  'GET /api/v1/playbooks/:id/versions/:version': 'tools:call',
  'GET /api/v1/playbooks/:id/versions/:version/diff/:to': 'tools:call',
  // Agents tell what came of a playbook.
  'POST /api/v1/playbooks/:id/versions/:version/outcomes': 'tools:call',
  'PATCH /api/v1/playbooks/:id/:version/enable': 'playbooks:write',
  'PATCH /api/v1/playbooks/:id/:version/disable': 'playbooks:write',
  'PATCH /api/v1/playbooks/:id/:version/deprecate': 'playbooks:write',
  'PATCH /api/v1/playbooks/:id/:version/archive': 'playbooks:write',

  'GET /api/v1/events': 'metrics:read',
  // Each topic asks for a scope of its own.
  'GET /api/v1/console/stream': 'anyone',

  'GET /api/v1/accounts': 'tools:call',
  'DELETE /api/v1/accounts/:server': 'tools:call',
  'GET /api/v1/access-rules': 'admin',
  'PUT /api/v1/access-rules': 'admin',
  'POST /api/v1/access-rules/test': 'admin',
  'GET /api/v1/keys': 'admin',
  'POST /api/v1/keys': 'admin',
  'GET /api/v1/keys/:id': 'admin',
  'PATCH /api/v1/keys/:id': 'admin',
  'DELETE /api/v1/keys/:id': 'admin',
  'GET /api/v1/audit': 'audit:read',

  'POST /v1/traces': 'traces:write',
  'POST /api/v1/spans': 'traces:write',
  'GET /api/v1/spans': 'traces:read',
  'GET /api/v1/runs': 'traces:read',
  'GET /api/v1/runs/:id': 'traces:read',
  'GET /api/v1/runs/:id/details': 'traces:read',
  'GET /api/v1/runs/:id/bottlenecks': 'traces:read',
  'DELETE /api/v1/runs/:id': 'admin',
  'DELETE /api/v1/threads/:id': 'admin',
  'GET /api/v1/group': 'traces:read',
  'GET /api/v1/group/spans': 'traces:read',
  'POST /api/v1/group/batch-spans': 'traces:read',
  'GET /api/v1/labels': 'traces:read',
  'GET /api/v1/stats': 'traces:read',
  'GET /api/v1/stats/compare': 'traces:read',
  'GET /api/v1/metrics/timeseries': 'traces:read',
  'GET /api/v1/traces/find': 'traces:read',
  'GET /api/v1/traces/:id/skeleton': 'traces:read',
  'GET /api/v1/traces/:id/window': 'traces:read',

  'GET /api/v1/executions/:id': 'tools:call',
  'DELETE /api/v1/executions/:id': 'tools:call',
  'GET /api/v1/replicas': 'tools:admin',

  'GET /api/v1/assistant/chats': 'tools:call',
  'POST /api/v1/assistant/chats': 'tools:call',
  'GET /api/v1/assistant/chats/:id': 'tools:call',
  'DELETE /api/v1/assistant/chats/:id': 'tools:call',
  'POST /api/v1/assistant/chats/:id/turns': 'tools:call',
  'GET /api/v1/assistant/chats/:id/stream': 'tools:call',
  'POST /api/v1/assistant/chats/:id/approvals/:callId': 'tools:call',
  'POST /api/v1/assistant/chats/:id/retry': 'tools:call',
  'POST /api/v1/assistant/chats/:id/stop': 'tools:call',

  'POST /api/v1/ui/sessions': 'tools:call',
  'PUT /api/v1/ui/sessions/:id/page': 'tools:call',
  'POST /api/v1/ui/sessions/:id/answers/:callId': 'tools:call',
  'PUT /api/v1/ui/sessions/:id/grants/:caller': 'tools:call',
  'DELETE /api/v1/ui/sessions/:id/grants/:caller': 'tools:call',

  'GET /api/v1/experiments': 'traces:read',
  'POST /api/v1/experiments': 'experiments:write',
  'GET /api/v1/experiments/by-span/:id': 'traces:read',
  'GET /api/v1/experiments/by-span/:id/original': 'traces:read',
  'GET /api/v1/experiments/:id': 'traces:read',
  'PATCH /api/v1/experiments/:id': 'experiments:write',
  'DELETE /api/v1/experiments/:id': 'experiments:write',
  'POST /api/v1/experiments/:id/run': 'experiments:write',
  'POST /api/v1/experiments/:id/cancel': 'experiments:write',
  'GET /api/v1/experiments/:id/evaluation': 'traces:read',

  'GET /mcp': 'tools:call',
  'POST /mcp': 'tools:call',
  'DELETE /mcp': 'tools:call',

  // A browser that has no session yet signs in, and one whose session is over signs out: the last of all.
  'GET /api/v1/session': 'anyone',
  'POST /api/v1/session': 'probe',
  'DELETE /api/v1/session': 'probe',
  'GET /api/v1/session/providers': 'probe',
  'POST /api/v1/session/providers': 'probe',
  'POST /api/v1/session/providers/logout': 'probe',
};
const rows = Object.entries(access).map(([route, needs]) => {
  const [method = '', path = ''] = route.split(' ');
  return { route, method, path: path.replace(/:\w+/g, '1').replace('*', 'x'), needs };
});

/** The headers that somebody shows. */
type Visitor = Readonly<Record<string, string>>;
const anonymous: Visitor = {};

const adminKey = 'a-key-of-enough-length';
let tk: TestApp;
let guarded: TestApp;
/** Of the operator. */
let session: BrowserSession;
/** A key of each scope alone. */
const keys = new Map<Scope, Visitor>();
/** Thousands of requests are made: they share connections. */
const agent = new Agent({ keepAlive: true });
beforeAll(async () => {
  tk = await startApp();
  guarded = await startApp({ ADMIN_API_KEY: adminKey });
  session = await signIn(guarded.url, { key: adminKey });
  for (const scope of scopes) {
    const { body } = await tk.http
      .post('/api/v1/keys')
      .send({ name: scope, scopes: [scope] })
      .expect(201);
    keys.set(scope, bearer(body.key));
  }
});
afterAll(async () => {
  agent.destroy();
  await Promise.all([tk.close(), guarded.close()]);
});

/** Every route that there is, as `GET /path/:name`, from Fastify's own tree of them. */
function routesOf({ app }: TestApp): string[] {
  const above: string[] = [];
  const tree: string = app.getHttpAdapter().getInstance().printRoutes({ commonPrefix: false });
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', own = '', methods = ''] = /^([│ ]*)[├└]── (\S+) \((.*)\)$/.exec(line) ?? [];
    const depth = indent.length / 4;
    // Two routes may name the same place differently.
    above.splice(depth, Infinity, own.replace(/\|:\w+/, ''));
    return (
      methods
        .split(', ')
        .filter((method) => method !== '' && method !== 'HEAD')
        // The tree leaves out the slash before a star where no route ends in that slash.
        .map((method) => `${method} ${above.join('').replace(/(?<!\/)\*$/, '/*')}`)
    );
  });
}

async function ask({ url }: TestApp, visitor: Visitor, method: string, path: string): Promise<number> {
  const body = ['GET', 'HEAD'].includes(method) ? undefined : '{}';
  const headers = { ...visitor, ...(body && { 'content-type': 'application/json', 'content-length': '2' }) };
  const asked = request(url + path, { agent, method, headers }).end(body);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  if (answer.headers['content-type'] === 'text/event-stream') answer.destroy();
  else await once(answer.resume(), 'end');
  return answer.statusCode ?? 0;
}
const refused = (status: number): boolean => status === 401 || status === 403;

it('the table has each route of the server, and no other', () => {
  expect(routesOf(tk).sort()).toEqual(Object.keys(access).sort());
});

describe.each(rows)('$route ($needs)', ({ method, path, needs }) => {
  const isOpenTo = (...held: readonly Scope[]): boolean =>
    needs === 'probe' || needs === 'anyone' || held.includes(needs);

  it('with each scope alone', async () => {
    const asked = scopes.map(
      async (scope) => [scope, await ask(tk, keys.get(scope)!, method, path)] as const,
    );
    for (const [scope, status] of await Promise.all(asked)) {
      const opens = isOpenTo(scope, ...(including[scope] ?? []));
      expect([scope, opens ? refused(status) : status]).toEqual([scope, opens ? false : 403]);
    }
  });

  it('on loopback without a key, and with the key of the operator', async () => {
    const status = await ask(tk, anonymous, method, path);
    // A chat belongs to a key.
    const opens = isOpenTo(...ofAnonymous) && !path.includes('/assistant/');
    expect(opens ? refused(status) : status).toBe(opens ? false : 401);
    if (method === 'GET') expect(await ask(tk, anonymous, 'HEAD', path)).toBe(status);
    expect(refused(await ask(tk, tk.key, method, path))).toBe(false);
  });

  it('asks whoever comes through a proxy without a key for one', async () => {
    const status = await ask(tk, { 'x-forwarded-for': '203.0.113.9' }, method, path);
    expect(needs === 'probe' ? refused(status) : status).toBe(needs === 'probe' ? false : 401);
  });

  it('asks everybody but probes where a key was configured', async () => {
    const status = await ask(guarded, anonymous, method, path);
    expect(needs === 'probe' ? refused(status) : status).toBe(needs === 'probe' ? false : 401);
    expect(refused(await ask(guarded, guarded.key, method, path))).toBe(false);
  });

  it('is opened to a browser that signed in: a cookie alone, which other ports of the host are sent, writes nothing', async () => {
    const { cookie, csrfToken } = session;
    const isRead = method === 'GET' || needs === 'probe';
    const alone = await ask(guarded, { cookie }, method, path);
    expect(isRead ? refused(alone) : alone).toBe(isRead ? false : 401);
    const both = { cookie, 'x-toolkeeper-session': csrfToken };
    const page = { ...both, origin: guarded.url, 'sec-fetch-site': 'same-origin' };
    expect(refused(await ask(guarded, page, method, path))).toBe(false);
    const elsewhere = { ...both, origin: 'http://127.0.0.1:8080', 'sec-fetch-site': 'same-site' };
    // A preflight comes from elsewhere, and changes nothing.
    const writes = !['GET', 'OPTIONS'].includes(method);
    // Pages of agents sign in at the facade, which looks at no cookie there; without one it is off.
    const isForPages = ['/oauth/register', '/oauth/token'].includes(path);
    if (writes) expect(await ask(guarded, elsewhere, method, path)).toBe(isForPages ? 404 : 403);
  });
});
