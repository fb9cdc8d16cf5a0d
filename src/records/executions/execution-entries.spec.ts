import { Deadline } from '../../base/common/deadline.js';
import { CallTicket } from '../../web/contract/call-ticket.js';
import type { ToolCall } from '../../web/contract/tool-call.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import type { Tool } from '../../web/contract/tool.js';
import { sha256 } from '../../base/common/canonical-json.js';
import { endOfOutcome, startOf } from './execution-recorder.interceptor.js';

const tool = { definition: { name: 'echo', version: '1' } } as Tool;

function callOf(): ToolCall {
  return {
    tool: 'echo',
    input: { b: 'é', a: 1 },
    context: { userId: 'u', requestId: 'r', projectId: 'default' },
    principal: { userId: 'u', scopes: new Set() },
    ticket: new CallTicket('id', tool, Deadline.ofSmallest([])),
  };
}

const failure = (result?: unknown): ToolOutcome => ({
  executionId: 'id',
  tool: 'echo',
  status: 'error',
  error: { code: -32001, type: 'tool_error', message: 'no' },
  executionTimeMs: 1,
  attempts: 1,
  cached: false,
  ...(result !== undefined && { result }),
});

it('the start of an execution is told without a trace on the call', () => {
  const call = callOf();
  // A write would throw.
  for (const each of [call, call.ticket, call.ticket.notes]) Object.freeze(each);
  const { parametersHash, inputSize } = startOf(call, 5);
  expect([parametersHash, inputSize]).toEqual([sha256('{"a":1,"b":"é"}'), 16]);
});

it.each([
  ['of the fallback that is sent', { fallback: 'é' }, 17],
  ['of nothing without one', undefined, 0],
])('a failed call has the size %s', (_, fallback, size) => {
  expect(endOfOutcome(callOf(), failure(fallback)).end.outputSize).toBe(size);
});

it('a failed call whose tool answered has the size of its answer, unless a fallback is sent', () => {
  const call = callOf();
  call.ticket.notes.outputBytes = 99;
  expect(endOfOutcome(call, failure()).end.outputSize).toBe(99);
  expect(endOfOutcome(call, failure({ fallback: 'é' })).end.outputSize).toBe(17);
});

describe('an execution as a span', () => {
  const placed = (context: Partial<ToolCall['context']>) => {
    const call = callOf();
    const { traceId, parentSpanId } = startOf({ ...call, context: { ...call.context, ...context } }, 5);
    return [traceId, parentSpanId];
  };
  const trace = '7bba9f33312b3dbb8b2c2c62bb7abe2d';
  const span = '086e83747d0e381e';

  it('stands below the span that its caller names', () => {
    expect(placed({ traceparent: `00-${trace}-${span}-01`, runId: 'r' })).toEqual([trace, span]);
  });

  it.each([
    '',
    'no',
    `ff-${trace}-${span}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
  ])('takes %j for no span', (traceparent) =>
    expect(placed({ traceparent })).toEqual([undefined, undefined]),
  );

  it.each(['runId', 'threadId', 'sessionId', 'investigationId'])(
    'has a trace of its own with a %s',
    (name) => {
      const call = callOf();
      const ticket = new CallTicket(
        '0199b2c4-6b1e-7a5d-8d0f-3f6f2f0c9a11',
        call.ticket.tool,
        call.ticket.deadline,
      );
      const { traceId } = startOf({ ...call, ticket, context: { ...call.context, [name]: 'x' } }, 5);
      expect(traceId).toBe('0199b2c46b1e7a5d8d0f3f6f2f0c9a11');
    },
  );

  it('is none where its call belongs to nothing', () => expect(placed({})).toEqual([undefined, undefined]));
});
