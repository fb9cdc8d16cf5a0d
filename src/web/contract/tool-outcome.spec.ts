import { ToolFailure } from './tool-outcome.js';

describe('ToolFailure', () => {
  it.each([
    ['tool_error', -32001, true],
    ['tool_error', -32602, false],
    ['tool_crashed', -32603, true],
    ['timeout', -32000, true],
    ['cancelled', -32603, false],
    ['interrupted', -32603, false],
    ['upstream_unavailable', -32603, false],
  ] as const)('%s %d is the tool’s fault: %s', (type, code, expected) => {
    expect(new ToolFailure(type, 'no', { code }).isToolFault).toBe(expected);
    expect(new ToolFailure(type, 'no', { code, isToolFault: false }).isToolFault).toBe(false);
  });
  it("takes the table's JSON-RPC code unless the tool answered its own", () => {
    expect(new ToolFailure('timeout', 'late').code).toBe(-32000);
    expect(new ToolFailure('tool_error', 'no', { code: -32602, data: { a: 1 } })).toMatchObject({
      code: -32602,
      data: { a: 1 },
    });
  });
});
