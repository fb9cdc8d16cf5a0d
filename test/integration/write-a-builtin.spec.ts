import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/common/project.js';
import { ToolRegistry } from '../../src/call/door/tool-registry.js';
import { countWords } from '../fixtures/builtin-tools/count-words.tool.js';
import { startApp, type TestApp } from '../support/app.js';

const read = (...path: string[]): string => readFileSync(join(projectRoot(), ...path), 'utf8');

/** real: the server, HTTP, PostgreSQL, the tool of docs/internals/write-a-built-in-tool.md. */
describe('the tool of docs/internals/write-a-built-in-tool.md', () => {
  let tk: TestApp;
  beforeAll(async () => {
    tk = await startApp();
    tk.app.get(ToolRegistry).register(countWords);
  }, 90_000);
  afterAll(() => tk.close());

  it('stands there as it is run here', () => {
    const code = read('test', 'fixtures', 'builtin-tools', 'count-words.tool.ts');
    expect(read('docs', 'internals', 'write-a-built-in-tool.md')).toContain(
      code.replaceAll('../../../src/', '../../../'),
    );
  });

  it('is listed with its schema', async () => {
    const { body } = await tk.http.get('/api/v1/tools/countWords').expect(200);
    expect(body).toMatchObject({
      name: 'countWords',
      kind: 'builtin',
      annotations: { readOnly: true, destructive: false },
      inputSchema: { required: ['text'], properties: { longest: { default: 10 } } },
    });
    const listed = await tk.http.get('/api/v1/tools?format=openai').expect(200);
    expect(JSON.stringify(listed.body)).toContain('countWords');
  });

  it('refuses a wrong input, each problem in words', async () => {
    const { body } = await tk.call('countWords', { text: ' ', longest: 101, unit: 'word' }).expect(422);
    expect(body).toMatchObject({ code: 'invalid_input' });
    expect((body as unknown as { errors: object[] }).errors).toEqual(
      expect.arrayContaining([
        { pointer: '/input/text', detail: 'must not be blank' },
        { pointer: '/input/longest', detail: 'must be at most 100' },
        { pointer: '/input/unit', detail: 'is not a known field' },
      ]),
    );
  });

  it('runs through the door and is recorded', async () => {
    const { body } = await tk.call('countWords', { text: 'To be, or not to be', longest: 2 }).expect(200);
    expect(body).toMatchObject({
      status: 'success',
      tool: 'countWords',
      result: { words: { to: 2, be: 2 }, distinct: 4 },
    });
    const failed = await tk.call('countWords', { text: '1 2 3' }).expect(200);
    expect(failed.body).toMatchObject({
      status: 'error',
      error: { type: 'tool_error', message: 'text holds no word' },
    });
    const stats = await tk.http.get('/api/v1/tool-metrics/stats/countWords').expect(200);
    expect(stats.body).toMatchObject({ totalCalls: 2 });
  });
});
