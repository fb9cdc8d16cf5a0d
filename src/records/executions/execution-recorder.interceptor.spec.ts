import { type ExecutionContext, Logger } from '@nestjs/common';
import { rmSync } from 'node:fs';
import { lastValueFrom, type Observable, of, throwError } from 'rxjs';
import { Deadline } from '../../base/common/deadline.js';
import { TestJournal } from '../../../test/support/journal.js';
import { canonicalJson, sha256 } from '../../base/common/canonical-json.js';
import { Refusal } from '../../base/common/errors.js';
import { newId } from '../../base/common/ids.js';
import { type CallEvent, CallEvents } from '../../web/contract/call-events.js';
import { CallTicket } from '../../web/contract/call-ticket.js';
import type { Tool } from '../../web/contract/tool.js';
import type { CallRequest, ToolCall } from '../../web/contract/tool-call.js';
import type { ToolErrorBody, ToolOutcome } from '../../web/contract/tool-outcome.js';
import { ExecutionRecorder } from './execution-recorder.js';
import { ExecutionRecorderInterceptor } from './execution-recorder.interceptor.js';
import type { ToolMetric } from './execution-record.js';

const tool: Tool = {
  definition: {
    name: 'echo',
    description: 'Says it again.',
    kind: 'custom',
    version: '1.2.3',
    inputSchema: {},
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
    tags: [],
    timeoutMs: 1_000,
  },
  validate: () => [],
  run: async () => null,
};

function callOf(changes: Partial<CallRequest> = {}): ToolCall {
  const ticket = new CallTicket(newId(), tool, Deadline.ofSmallest([]));
  return {
    tool: 'echo',
    input: { b: 'é', a: 1 },
    context: { userId: 'u', requestId: 'r', projectId: 'default' },
    principal: { userId: 'u', scopes: new Set() },
    ticket,
    ...changes,
  };
}

const contextOf = (call: ToolCall): ExecutionContext =>
  ({ getArgByIndex: () => call }) as unknown as ExecutionContext;

const journals: TestJournal[] = [];
afterEach(async () => {
  for (const journal of journals.splice(0)) {
    await journal.close(5_000);
    rmSync(journal.folder, { recursive: true, force: true });
  }
});

function setup(maxBytes = 100_000) {
  const journal = new TestJournal();
  journals.push(journal);
  const { rows } = journal;
  const recorder = new ExecutionRecorder(journal, { maxBytes });
  const events = new CallEvents();
  const said: CallEvent[] = [];
  events.subscribe('executed', (event) => said.push(event));
  const interceptor = new ExecutionRecorderInterceptor(recorder, events);
  const run = async (call: ToolCall, handled: () => Observable<ToolOutcome>): Promise<ToolOutcome> =>
    lastValueFrom(await interceptor.intercept(contextOf(call), { handle: handled }));
  const recorded = async (): Promise<ToolMetric> => {
    await recorder.flush();
    const [row] = rows;
    if (!row || rows.length > 1) throw new Error(`${rows.length} rows`);
    return row;
  };
  return { recorder, events, said, interceptor, run, rows, recorded };
}

const success = (call: ToolCall, result: unknown): ToolOutcome => ({
  executionId: call.ticket.executionId,
  tool: 'echo',
  status: 'success',
  result,
  executionTimeMs: 12,
  attempts: 1,
  cached: false,
});

const failure = (
  call: ToolCall,
  error: ToolErrorBody,
  status: 'error' | 'timeout' = 'error',
): ToolOutcome => ({
  ...success(call, undefined),
  status,
  error,
});

describe('ExecutionRecorderInterceptor', () => {
  it('records nothing where a cached answer stands in for an execution', async () => {
    const { run, recorder, rows, said } = setup();
    const call = callOf();
    call.ticket.cachedAnswer = { outcome: success(call, 7), how: 'kept' };
    await run(call, () => of(success(call, 7)));
    await recorder.flush();
    expect([rows.length, said.length]).toEqual([0, 0]);
  });

  it('writes nothing down that is usual: one attempt, no waiting, the default project, the result itself', async () => {
    const { run, recorded } = setup();
    const call = callOf();
    await run(call, () => {
      Object.assign(call.ticket.notes, { queueMs: 0.999, pid: 42, outputBytes: 2 });
      return of(success(call, {}));
    });
    expect((await recorded()).metadata).toEqual({ version: '1.2.3', pid: 42 });
  });

  it('records a success with hash, sizes and context', async () => {
    const { run, recorded, said } = setup();
    const context = {
      userId: 'u',
      requestId: 'r',
      projectId: 'p',
      sessionId: 's',
      investigationId: 'i',
      runId: 'run',
      threadId: 't',
      labels: { team: 'x' },
    };
    const call = callOf({ context });
    const before = Date.now();
    await run(call, () => {
      Object.assign(call.ticket.notes, { attempts: 2, queueMs: 1, spawnMs: 3, pid: 42 });
      return of(success(call, { ok: 'é' }));
    });
    const row = await recorded();
    expect(row).toEqual({
      metricId: call.ticket.executionId,
      toolName: 'echo',
      kind: 'tool',
      userId: 'u',
      sessionId: 's',
      requestId: 'r',
      investigationId: 'i',
      runId: 'run',
      traceId: call.ticket.executionId.replaceAll('-', ''),
      parentSpanId: null,
      status: 'success',
      executionTimeMs: 12,
      errorType: null,
      errorMessage: null,
      parametersHash: sha256(canonicalJson({ a: 1, b: 'é' })),
      inputSize: Buffer.byteLength('{"a":1,"b":"é"}'),
      outputSize: Buffer.byteLength('{"ok":"é"}'),
      metadata: {
        attempts: 2,
        queueMs: 1,
        spawnMs: 3,
        pid: 42,
        version: '1.2.3',
        projectId: 'p',
        runId: 'run',
        threadId: 't',
        labels: { team: 'x' },
      },
      isTest: false,
      toolFault: false,
      semanticFailure: null,
      recordedAt: expect.any(Date),
    });
    expect(row.recordedAt.getTime()).toBeGreaterThanOrEqual(before);
    expect(said).toEqual([
      {
        kind: 'executed',
        executionId: call.ticket.executionId,
        tool: 'echo',
        status: 'success',
        fault: false,
        executionTimeMs: 12,
        at: expect.any(Number),
        test: false,
        probe: false,
        context,
        input: { a: 1, b: 'é' },
        outputSize: 11,
      },
    ]);
  });

  it('takes the size of the output that the tool knows', async () => {
    const { run, recorded } = setup();
    const call = callOf();
    call.ticket.notes.outputBytes = 77;
    await run(call, () => of(success(call, 'short')));
    const row = await recorded();
    expect(row.outputSize).toBe(77);
    expect(row.metadata).not.toHaveProperty('outputBytes');
  });

  it.each([
    ['tool_error', -32001, 'error', true],
    ['tool_error', -32602, 'error', false],
    ['tool_crashed', -32603, 'error', true],
    ['timeout', -32000, 'timeout', true],
    ['cancelled', -32603, 'error', false],
    ['upstream_unavailable', -32603, 'error', false],
  ] as const)('records %s (%i) as %s, tool fault %s', async (type, code, status, fault) => {
    const { run, recorded, said } = setup();
    const call = callOf();
    call.ticket.probe = true;
    await run(call, () => {
      call.ticket.toolFault = fault;
      return of(failure(call, { type, code, message: 'because' }, status));
    });
    const row = await recorded();
    expect(row).toMatchObject({
      status,
      errorType: type,
      errorMessage: 'because',
      toolFault: fault,
      outputSize: 0,
    });
    expect(row.metadata).toMatchObject({ errorCode: code, probe: true });
    expect(said).toMatchObject([{ status, errorType: type, fault, probe: true }]);
  });

  it('keeps the beginning of a long message and the end of a long stderr', async () => {
    const { run, recorded } = setup();
    const call = callOf();
    call.ticket.notes.stderrTail = `${'x'.repeat(9_000)}the end`;
    const message = `the beginning${'y'.repeat(9_000)}`;
    await run(call, () => of(failure(call, { type: 'tool_error', code: -32001, message })));
    const row = await recorded();
    expect(row.errorMessage).toMatch(/^the beginningy+$/);
    expect(row.errorMessage).toHaveLength(4_096);
    expect(row.metadata['stderrTail']).toMatch(/^x+the end$/);
    expect(row.metadata['stderrTail']).toHaveLength(4_096);
  });

  it('marks a test call', async () => {
    const { run, recorded, said } = setup();
    const call = callOf({ test: true });
    await run(call, () => of(success(call, null)));
    expect((await recorded()).isTest).toBe(true);
    expect(said).toMatchObject([{ test: true }]);
  });

  it('records our own bug as internal_error, not as the fault of the tool, and rethrows it', async () => {
    const { run, recorded, said } = setup();
    const bug = new TypeError('x is not a function');
    await expect(run(callOf(), () => throwError(() => bug))).rejects.toBe(bug);
    expect(await recorded()).toMatchObject({
      status: 'error',
      errorType: 'internal_error',
      errorMessage: 'x is not a function',
      toolFault: false,
      semanticFailure: null,
    });
    expect(said).toMatchObject([{ status: 'error', errorType: 'internal_error', fault: false }]);
  });

  it('records nothing of a call that was refused after all, and gives its place back', async () => {
    const { run, recorder, said, rows } = setup();
    const refusal = new Refusal('shutting_down', 'stopping');
    await expect(run(callOf(), () => throwError(() => refusal))).rejects.toBe(refusal);
    await recorder.flush();
    expect([rows.length, said.length]).toEqual([0, 0]);
  });

  it('refuses a call whose record cannot be promised, before it starts', async () => {
    const { interceptor } = setup(0);
    const call = callOf();
    const handle = jest.fn();
    await expect(interceptor.intercept(contextOf(call), { handle })).rejects.toThrow(Refusal);
    expect(handle).not.toHaveBeenCalled();
  });

  it('records a result that is no JSON, without a size', async () => {
    const { run, recorded } = setup();
    const call = callOf();
    await run(call, () => of(success(call, 10n)));
    expect((await recorded()).outputSize).toBe(0);
  });

  it('fails no call because of a listener', async () => {
    const { run, events, recorded } = setup();
    const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    events.subscribe('executed', () => {
      throw new Error('listener');
    });
    const call = callOf();
    await expect(run(call, () => of(success(call, 1)))).resolves.toMatchObject({ status: 'success' });
    expect((await recorded()).status).toBe('success');
    expect(logged).toHaveBeenCalledWith(new Error('listener'), 'a listener of calls failed');
    logged.mockRestore();
  });
});
