import { Cancellation } from '../../base/common/cancellation.js';
import { Deadline } from '../../base/common/deadline.js';
import { Asker, type Asks, missingFor } from './asks.js';
import type { ExecutionNotes } from './tool.js';

const never: NonNullable<Asks['live']> = () => new Promise(() => undefined);
const run = (ms: number) => ({
  deadline: Deadline.ofSmallest([ms]),
  notes: { attempts: 1 } as ExecutionNotes,
  cancellation: new Cancellation(),
});
const question = { method: 'elicitation/create', params: {} };

it('ends the call as a timeout if nobody answers in time, and withdraws the question', async () => {
  const call = run(60_000);
  let over: AbortSignal | undefined;
  const live: Asks['live'] = (asked, signal) => ((over = signal), never(asked, signal));
  const asker = new Asker(call, { capabilities: {}, live }, 20);
  await expect(asker.ask(question)).rejects.toMatchObject({ type: 'timeout', isToolFault: false });
  expect(call.deadline.remainingMs()).toBe(0);
  expect(over?.aborted).toBe(true);
});

it('ends the call as cancelled if the caller leaves', async () => {
  const call = run(60_000);
  const asked = new Asker(call, { capabilities: {}, live: never }).ask(question);
  setImmediate(() => call.cancellation.cancel());
  await expect(asked).rejects.toMatchObject({ type: 'cancelled' });
});

it('stops the deadline while it asks, one question after another', async () => {
  const call = run(50);
  const answers: (() => void)[] = [];
  const live: Asks['live'] = () => new Promise((resolve) => answers.push(() => resolve({ result: 1 })));
  const asker = new Asker(call, { capabilities: {}, live });
  const both = Promise.all([asker.ask(question), asker.ask(question)]);
  await new Promise((resolve) => setTimeout(resolve, 80));
  expect(answers).toHaveLength(1);
  answers[0]?.();
  await new Promise((resolve) => setImmediate(resolve));
  answers[1]?.();
  await both;
  expect(call.deadline.remainingMs()).toBeGreaterThan(0);
  expect(call.notes).toMatchObject({ askedMs: expect.any(Number) });
});

it.each([
  [{}, {}, { elicitation: { form: {} } }],
  [{}, { elicitation: {} }, undefined],
  [{ mode: 'form' }, { elicitation: { form: {} } }, undefined],
  [{ mode: 'url' }, { elicitation: {} }, { elicitation: { url: {} } }],
  [{ mode: 'url' }, { elicitation: { form: {}, url: {} } }, undefined],
  [{ mode: 'form' }, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
])('%j asked of a caller with %j lacks %j', (params, capabilities, missing) =>
  expect(missingFor({ method: 'elicitation/create', params }, capabilities)).toEqual(missing),
);
