import { Deadline } from '../common/deadline.js';
import { Refusal } from '../common/errors.js';
import { newId } from '../common/ids.js';
import { CallTicket } from '../tool-contract/call-ticket.js';
import type { Tool } from '../tool-contract/tool.js';
import type { ToolCall } from '../tool-contract/tool-call.js';

/** A call that its last guard refuses, and whether it was run all the same. */
export function selfTestCall(): { readonly call: ToolCall; readonly hasRun: () => boolean } {
  let ran = false;
  const tool: Tool = {
    definition: {
      name: 'self_test',
      description: 'Sees at start that a refused call is not run.',
      kind: 'builtin',
      version: '1.0.0',
      inputSchema: {},
      annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
      tags: [],
      timeoutMs: 1_000,
    },
    validate: () => [],
    takeSlot: () => {
      throw new Refusal('queue_full', 'self-test');
    },
    run: async () => (ran = true),
  };
  const call = {
    tool: tool.definition.name,
    input: {},
    context: { userId: 'self-test', requestId: 'self-test', projectId: 'default' },
    principal: { userId: 'self-test', scopes: new Set<never>() },
    ticket: new CallTicket(newId(), tool, Deadline.ofSmallest([tool.definition.timeoutMs])),
  };
  return { call, hasRun: () => ran };
}
