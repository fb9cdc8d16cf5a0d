import type { Tool, ToolRun } from '../tool-contract/tool.js';
import { ToolFailure } from '../tool-contract/tool-outcome.js';

/**
 * Runs a tool that does not watch its deadline itself, until it ends, its deadline passes or its caller leaves,
 * whichever is first.
 * @throws ToolFailure `timeout`, `cancelled`, or whatever the tool throws
 */
export async function runUnderDeadline(tool: Tool, input: unknown, run: ToolRun): Promise<unknown> {
  const controller = new AbortController();
  let stop = (_failure: ToolFailure): void => undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = (failure) => {
      reject(failure);
      controller.abort(failure);
    };
  });
  const onCallerLeft = (): void =>
    stop(new ToolFailure('cancelled', 'The caller left before the tool ended'));
  const timer = setTimeout(
    () => stop(new ToolFailure('timeout', `No answer within ${run.deadline.totalMs} ms`)),
    run.deadline.remainingMs(),
  );
  run.signal.addEventListener('abort', onCallerLeft, { once: true });
  if (run.signal.aborted) onCallerLeft();
  try {
    return await Promise.race([tool.run(input, { ...run, signal: controller.signal }), stopped]);
  } finally {
    clearTimeout(timer);
    run.signal.removeEventListener('abort', onCallerLeft);
  }
}
