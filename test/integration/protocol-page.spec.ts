import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/base/config/app-config.js';
import { errorTable } from '../../src/base/common/errors.js';
import { Conversation } from '../../src/runtime/process-pool/conversation.js';
import { encodeNotification, encodeRequest } from '../../src/runtime/process-pool/json-rpc.js';
import {
  initializeParams,
  protocolVersions,
  readHandshake,
  readNotice,
} from '../../src/runtime/process-pool/own-dialect.js';
import { Gate } from '../fixtures/tools/gate.js';
import { call, PoolLab, result } from '../fixtures/tools/pool-lab.js';
import type { Json } from '../support/json.js';

const page = readFileSync(join(__dirname, '..', '..', 'docs', 'tools', 'protocol.md'), 'utf8');
const lines = page.split('\n');
const written = (arrow: string): Json[] =>
  lines.filter((line) => line.startsWith(`${arrow} {`)).map((line) => JSON.parse(line.slice(2)));
const toTool = written('→');
const fromTool = written('←');

/** The rows of the table under a heading, without its head. */
function rowsOf(heading: string, table = 0): string[][] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const tables = section
    .trim()
    .split('\n\n')
    .filter((block) => block.startsWith('|'));
  const rows = tables[table]?.split('\n').slice(2) ?? [];
  return rows.map((row) =>
    row
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
}

describe('docs/tools/protocol.md', () => {
  it('shows what we write as we write it', () => {
    for (const { id, method, params } of toTool) {
      const text = id === undefined ? encodeNotification(method, params) : encodeRequest(id, method, params);
      expect(lines).toContain(`→ ${text.trimEnd()}`);
    }
    expect(new Set(toTool.map(({ method }) => method))).toEqual(
      new Set(['initialize', 'execute', 'health', 'cancel', 'shutdown']),
    );
    expect(toTool[0].params).toEqual(initializeParams);
  });

  it('shows answers and notifications that we understand', () => {
    const nobody = { answered: () => undefined, failed: () => undefined };
    for (const message of fromTool) {
      const conversation = new Conversation(() => undefined);
      for (const { id } of toTool) if (id !== undefined) conversation.add(id, nobody);
      expect(conversation.receive(message, 1)).toBe(message.id === undefined ? 'other' : 'answer');
    }
    for (const { method, params } of fromTool.filter(({ id }) => id === undefined))
      expect(readNotice(method, params)).toMatchObject({ notice: { type: method }, id: '1' });
    expect(readHandshake({ result: fromTool[0].result })).toEqual(fromTool[0].result);
  });

  it('lists every method, version, capability and code that there is', () => {
    expect(rowsOf('Requests').map(([method]) => method)).toEqual(['`initialize`', '`execute`', '`health`']);
    expect(rowsOf('Versions').map(([version]) => version)).toEqual([...protocolVersions].sort());
    expect(rowsOf('Notifications').map(([method]) => method)).toEqual(['`progress`', '`log`']);
    const names = rowsOf('Capabilities').map(([name = '']) => name.replaceAll('`', ''));
    const declared = Object.fromEntries(names.map((name) => [name, true]));
    expect(readHandshake({ result: { capabilities: declared } })).toEqual({ capabilities: declared });
    const codes = rowsOf('Errors').map(([code]) => Number(code));
    expect(codes).toEqual(
      expect.arrayContaining([errorTable.timeout.jsonRpc, errorTable.tool_error.jsonRpc]),
    );
  });

  it('names refusals and defaults as they are', () => {
    const refusal = readHandshake({ result: { protocolVersion: '2.0' } });
    expect(page).toContain(refusal as string);
    expect(loadConfig({}).customTools.cancelGraceMs).toBe(1_000);
    expect(page).toContain('within 1 s goes on with the next call');
  });
});

describe('the exchange that docs/tools/protocol.md shows', () => {
  it('is what passes between a process and its pool', async () => {
    const lab = new PoolLab();
    const gate = new Gate();
    try {
      const pool = lab.pool({ spec: lab.spec(['--declares=cancel,shutdown', '--protocol=1.1']) });
      const says = fromTool.filter(({ method }) => method).map(({ method, params }) => ({ method, params }));
      const notices: unknown[] = [];
      const messages = says.map(({ method, params }) => ({ method, params: { ...params, id: '$ID' } }));
      await call(pool, { action: 'say', messages }, { onNotice: (notice) => notices.push(notice) });
      expect(notices).toEqual(
        says.map(({ method: type, params: { id: _its, ...rest } }) => ({ type, ...rest })),
      );
      const late = expect(call(pool, gate.input('a'), { timeoutMs: 300 })).rejects.toMatchObject({
        reason: 'timeout',
      });
      await gate.running('a');
      await late;
      const shown = toTool.find(({ method }) => method === 'cancel');
      expect(await result(pool, { action: 'heard' })).toEqual([
        { method: 'cancel', params: { ...shown.params, id: gate.idOf('a') } },
      ]);
    } finally {
      await lab.close();
      gate.close();
    }
  });
});
