import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import { makeTemplateProject, templateFolder } from '../support/template-project.js';

let tk: TestApp;
const project = makeTemplateProject();
const folder = join(project, templateFolder);

beforeAll(async () => {
  tk = await startApp();
});
afterAll(async () => {
  await tk.close();
  rmSync(project, { recursive: true, force: true });
});

const found = { success: true, data: [{ id: 1, title: 'Result for x' }], count: 1 };

/** The templates that tool authors were given; the sums say that nobody mended them. */
describe.each([
  {
    language: 'python',
    command: 'python3',
    file: 'tool.py',
    sha256: 'ce6d9843d05425d4cc5bfeabb209a5951183b6f4725870143d3cc858a65be2fb',
    input: { query: 'x' },
    result: found,
  },
  {
    language: 'node',
    command: 'node',
    file: 'tool.js',
    sha256: 'a7c9ad3dc3250c81285008c2ea15a86abb96d86e99879489c5a69b385049fcbd',
    input: { query: 'x' },
    result: found,
  },
  {
    language: 'bash',
    command: 'bash',
    file: 'tool.sh',
    sha256: '7b206dea491cd59bfdd4d119a5876d2abbf26d3d46d4b1dd74dee3653fb0f2bc',
    input: { command: 'printf "%s\n" "grüße" two' },
    result: { success: true, output: 'grüße\ntwo\n' },
  },
])('the $language template', ({ language, command, file, sha256, input, result }) => {
  const name = `plain_${language}`;
  const path = `/api/v1/custom-tools/${name}`;

  it('is unchanged', () => {
    const text = readFileSync(join(folder, file));
    expect(createHash('sha256').update(text).digest('hex')).toBe(sha256);
  });

  it('registers; what it says of itself becomes the tool', async () => {
    const { body } = await tk.http
      .post('/api/v1/custom-tools')
      // Its own name is the same in all three: the registered one differs.
      .send({ name, command, args: [join(folder, file)], keepAlive: true, description: 'From its author' })
      .expect(201);
    expect(body).toMatchObject({
      version: '1.0.0',
      inputSchema: { type: 'object', required: Object.keys(input) },
      status: 'active',
      healthStatus: 'healthy',
    });
  });

  it('executes again and again, plain and streamed', async () => {
    for (let n = 0; n < 3; n++) {
      const { body } = await tk.call(name, input).expect(200);
      expect(body).toMatchObject({ status: 'success', result });
    }
    const { text } = await tk.call(name, input).set('accept', 'text/event-stream').expect(200);
    const [, outcome = ''] = text.split('event: outcome\ndata: ');
    expect(JSON.parse(outcome)).toMatchObject({ status: 'success', result });
  });

  it('is not asked about an input that its schema refuses', async () => {
    await tk.call(name, {}).expect(422, /"code":"invalid_input"/);
  });

  it('answers health, from the one process that served them all', async () => {
    const { body } = await tk.http.get(`${path}/health`).expect(200);
    expect(body).toMatchObject({ healthStatus: 'healthy', errorMessage: null, processes: { idle: 1 } });
  });

  it('validates: only the two members that were registered differently differ', async () => {
    const { body } = await tk.http.post(`${path}/validate`).expect(200);
    expect(body).toMatchObject({ valid: true, errors: [] });
    expect(body.differences).toEqual([
      expect.stringMatching(/^name: the registration says "plain_\w+", the executable says "my_custom_tool"/),
      expect.stringMatching(/^description: the registration says "From its author"/),
    ]);
    await tk.http.delete(path).expect(204);
    const registered = { name: 'my_custom_tool', command, args: [join(folder, file)] };
    await tk.http.post('/api/v1/custom-tools').send(registered).expect(201);
    await tk.http
      .post('/api/v1/custom-tools/my_custom_tool/validate')
      .expect(200, { valid: true, errors: [], differences: [] });
    await tk.http.delete('/api/v1/custom-tools/my_custom_tool').expect(204);
  });
});
