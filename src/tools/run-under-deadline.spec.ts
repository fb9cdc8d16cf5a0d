import { Deadline } from '../common/deadline.js';
import type { Tool, ToolRun } from '../tool-contract/tool.js';
import { runUnderDeadline } from './run-under-deadline.js';

const run = (ms: number, signal = new AbortController().signal): ToolRun => ({
  signal,
  executionId: 'id',
  context: { userId: 'u', requestId: 'r', projectId: 'default' },
  deadline: Deadline.ofSmallest([ms]),
  probe: false,
  notes: { attempts: 1 },
});
const tool = (body: (signal: AbortSignal) => Promise<unknown>): Tool =>
  ({ run: (_input: unknown, { signal }: ToolRun) => body(signal) }) as unknown as Tool;
const never = new Promise<never>(() => undefined);

describe('runUnderDeadline', () => {
  it("gives the tool's result", async () => {
    await expect(
      runUnderDeadline(
        tool(async () => 7),
        {},
        run(1_000),
      ),
    ).resolves.toBe(7);
  });

  it('ends at the deadline and aborts the tool', async () => {
    let seen: AbortSignal | undefined;
    const slow = tool((signal) => {
      seen = signal;
      return never;
    });
    await expect(runUnderDeadline(slow, {}, run(20))).rejects.toMatchObject({ type: 'timeout' });
    expect(seen?.aborted).toBe(true);
  });

  it('ends when the caller leaves, also when it left before', async () => {
    const caller = new AbortController();
    const pending = runUnderDeadline(
      tool(() => never),
      {},
      run(60_000, caller.signal),
    );
    caller.abort();
    await expect(pending).rejects.toMatchObject({ type: 'cancelled' });
    const late = runUnderDeadline(
      tool(() => never),
      {},
      run(60_000, caller.signal),
    );
    await expect(late).rejects.toMatchObject({ type: 'cancelled' });
  });
});
