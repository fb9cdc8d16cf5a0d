import { StreamTopics } from '../../base/streams/stream-topics.js';
import { CallEvents, type ExecutedCall } from '../../web/contract/call-events.js';
import { ExecutionNews } from './execution-news.js';

const ended = (executionId: string): ExecutedCall => ({
  ...{ kind: 'executed', executionId, tool: 'word_count', status: 'success', fault: false },
  ...{ executionTimeMs: 12, at: 0, test: false, probe: false, input: { text: 'secret' } },
  context: { userId: 'ann', requestId: executionId, projectId: 'default' },
});

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

it('announces executions in batches without their input, and only while somebody follows', async () => {
  const [topics, calls] = [new StreamTopics(), new CallEvents()];
  expect(new ExecutionNews(topics, calls)).toBeDefined();
  const topic = topics.find('executions');
  const ring = await topic?.ring(undefined, 'anonymous');
  calls.emit(ended('before'));
  expect(jest.getTimerCount()).toBe(0);
  const stop = ring?.news.subscribe(() => undefined);
  for (let n = 0; n < 502; n += 1) calls.emit(ended(`e${n}`));
  jest.advanceTimersByTime(500);
  const batch = ring?.from(0)?.entry as unknown as { ended: { id: string }[]; more: number };
  expect([batch.ended.length, batch.ended[0]?.id, batch.more]).toEqual([500, 'e0', 2]);
  expect(JSON.stringify(batch)).not.toContain('secret');
  stop?.();
  calls.emit(ended('after'));
  expect(jest.getTimerCount()).toBe(0);
});
