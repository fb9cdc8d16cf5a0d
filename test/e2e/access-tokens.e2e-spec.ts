import { startApp, type TestApp } from '../support/app.js';
import { bearer } from '../support/admin-key.js';
import { startIssuer, type TestIssuer } from '../support/oidc-issuer.js';

// real: the whole server, HTTP, PostgreSQL, an issuer with real signatures; mock: nothing

let issuer: TestIssuer;
let tk: TestApp;

const agents = {
  claim: 'realm_access.roles',
  value: 'agents',
  role: 'agent',
  projects: ['payments'],
  tools: ['echo*'],
};
const withRoles = (...roles: string[]): object => ({ claims: { realm_access: { roles } } });

beforeAll(async () => {
  issuer = await startIssuer();
  const entry = { issuer: issuer.issuer, audiences: ['toolkeeper'], rules: [agents] };
  tk = await startApp({ OIDC_ISSUERS: JSON.stringify([entry]) });
  await tk.register('echo');
});

afterAll(async () => {
  await tk.close();
  await issuer.close();
});

const call = (token: string, name = 'echo') =>
  tk.anonymous.post(`/api/v1/tools/${name}/execute`).set(bearer(token)).send({ input: {} });

it('a token calls a tool with the rights that a rule gives, and the execution names its person and client', async () => {
  const { body } = await call(await issuer.token(withRoles('agents'))).expect(200);
  const { body: row } = await tk.http
    .get(`/api/v1/tool-metrics/executions/${body.executionId}`)
    .query({ project: 'payments' })
    .expect(200);
  expect(row).toMatchObject({
    userId: 'alice',
    metadata: { keyId: `${issuer.issuer}#alice`, clientId: 'agent-1' },
  });
});
