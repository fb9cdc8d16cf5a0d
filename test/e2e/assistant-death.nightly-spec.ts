import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Gate } from '../fixtures/tools/gate.js';
import { fixtures } from '../support/app.js';
import { AssistantClient, calling, callsOf, ofType, textOf } from '../support/assistant.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { supertest } from '../support/http.js';
import type { Json } from '../support/json.js';
import { type LlmServer, startLlmServer } from '../support/llm-endpoint.js';
import { type ServerProcess, startServer } from '../support/server-process.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the server's process and its death, HTTP, PostgreSQL, the tool; scripted: the model

let llm: LlmServer;
beforeAll(async () => {
  llm = await startLlmServer();
});
afterAll(() => llm.close());

describe('a server that is killed in mid-turn', () => {
  let db: TestDatabase;
  let gate: Gate;
  let server: ServerProcess;
  const folder = makeTestFolder();
  const start = async (): Promise<AssistantClient> => {
    server = await startServer({
      ...{ DATABASE_URL: db.url, TOOLKEEPER_DATA_DIR: folder, CUSTOM_TOOLS_DIR: folder },
      ...{ LLM_BASE_URL: llm.url, LLM_MODEL: 'scripted' },
    });
    return new AssistantClient(server.url, server.key);
  };

  beforeAll(async () => {
    db = await createTestDatabase();
    gate = new Gate();
  });
  afterAll(async () => {
    await server.end('SIGKILL');
    gate.close();
    await db.release();
    rmSync(folder, { recursive: true, force: true });
  });

  it('shows what was done, has records of the calls, and a retry runs no write twice', async () => {
    let me = await start();
    const args = [join(fixtures, 'fixture-tool.mjs')];
    const settings = { name: 'writer', command: 'node', args, keepAlive: true, ...gate.access };
    await supertest(server.url).post('/api/v1/custom-tools').set(server.key).send(settings).expect(201);
    llm.answer = ({ body }) => {
      const calls = body.messages.filter(({ role }: Json) => role === 'tool').length;
      return (
        [calling('writer', { action: 'echo' }), calling('writer', gate.input('cut'), 'call_1')][calls] ??
        'Done.'
      );
    };
    const id = await me.newChat();
    const approve = async (chunks: readonly Json[]): Promise<Json[]> => {
      const path = `/${id}/approvals/${ofType(chunks, 'tool-approval-request').at(-1)?.toolCallId}`;
      return me.chunks('POST', path, { approve: true });
    };
    const second = await approve(await me.say(id, 'Write twice'));
    const cut = approve(second).catch(() => 'cut');
    await gate.running('cut');
    await server.end('SIGKILL');
    await cut;
    me = await start();
    await until(async () => (await me.get(id)).state === 'interrupted', { what: 'the end of the lease' });
    expect(callsOf(await me.get(id))).toMatchObject([
      { state: 'output-available', output: { status: 'success' } },
      { state: 'approval-responded' },
    ]);
    const chunks = await me.chunks('POST', `/${id}/retry`);
    expect({ text: textOf(chunks), chunks }).toMatchObject({ text: 'Done.' });
    expect(callsOf(await me.get(id))[1]).toMatchObject({ output: { error: { type: 'interrupted' } } });
    expect(gate.arrived.filter((key) => key === 'cut')).toHaveLength(1);
    const path = '/api/v1/tool-metrics/executions?tool=writer';
    const { body } = await supertest(server.url).get(path).set(server.key).expect(200);
    expect(body.data.map(({ status, errorType }: Json) => [status, errorType])).toEqual([
      ['error', 'interrupted'],
      ['success', null],
    ]);
  });
});
