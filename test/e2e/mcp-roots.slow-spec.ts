import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fixtures, startApp, type TestApp } from '../support/app.js';

// real: an MCP server as processes, which asks for its roots and applies them a moment later

const projects = Array.from({ length: 20 }, (_, n) => `project-${n}`);
let tk: TestApp;
beforeAll(async () => {
  tk = await startApp({ CUSTOM_TOOLS_MAX_PROCESSES: '24', SANDBOX_GRANTABLE_PATHS: fixtures });
});
afterAll(() => tk.close());

it('is called only after it has applied its roots: the first call of each project succeeds', async () => {
  const server = { command: 'node', args: [join(fixtures, 'mcp-server.mjs'), '--roots=50'] };
  await tk.http
    .post('/api/v1/custom-tools')
    .send({ name: 'files', protocol: 'mcp', ...server, sandbox: { allowedPaths: [fixtures] } })
    .expect(201);
  const answers = [];
  for (const project of projects)
    answers.push(
      await tk.http
        .post('/api/v1/tools/files__root/execute')
        .set('x-project-id', project)
        .send({ input: {} })
        .expect(200),
    );
  expect(answers.map(({ body }) => body.result?.content ?? body.error)).toEqual(
    projects.map(() => [{ type: 'text', text: pathToFileURL(fixtures).href }]),
  );
  const { body: circuit } = await tk.http.get('/api/v1/tool-health/files__root/circuit').expect(200);
  expect(circuit.state).toBe('closed');
});
