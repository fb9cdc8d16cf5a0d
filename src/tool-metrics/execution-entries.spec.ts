import { Deadline } from '../common/deadline.js';
import { CallTicket } from '../tool-contract/call-ticket.js';
import type { ToolCall } from '../tool-contract/tool-call.js';
import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import type { Tool } from '../tool-contract/tool.js';
import { sha256 } from '../common/canonical-json.js';
import { endOfOutcome, startOf } from './execution-entries.js';

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
