import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../src/config/app-config.js';
import { startApp, type TestApp } from '../support/app.js';

let tk: TestApp;
let folder: string;

beforeAll(async () => {
  tk = await startApp();
  folder = mkdtempSync(join(tmpdir(), 'toolkeeper-readme-'));
});

afterAll(async () => {
  await tk.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the README', () => {
  it('shows a tool that works as its five minutes say, until it is broken', async () => {
    const readme = readFileSync(join(projectRoot(), 'README.md'), 'utf8');
    const source = /<<'PY'\n([\s\S]*?)\nPY\n/.exec(readme)?.[1];
    const registration = /'(\{"name": "word_count".*\})'/.exec(readme)?.[1];
    writeFileSync(join(folder, 'tool.py'), source ?? '');
    const body = { ...JSON.parse(registration ?? '{}'), workingDir: folder };
    await tk.http
      .post('/api/v1/custom-tools')
      .send(body)
      .expect(201, /"description":"Counts words"/);

    await tk.call('word_count', { text: 'to be or not to be' }).expect(200, /"result":\{"words":6\}/);
    await tk.call('word_count', { txt: 1 }).expect(422, /"pointer":"\/input\/text"/);
    const { body: health } = await tk.http.get('/api/v1/custom-tools/word_count/health').expect(200);
    expect(health).toMatchObject({ healthStatus: 'healthy', processes: { idle: 1 } });
    for (let n = 0; n < 5; n++)
      await tk.call('word_count', { text: '' }).expect(200, /"type":"tool_crashed"/);
    await tk.call('word_count', { text: '' }).expect(503, /"code":"circuit_open"/);
  });
});
