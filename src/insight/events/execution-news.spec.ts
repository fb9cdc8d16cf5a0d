import { StreamTopics } from '../../base/streams/stream-topics.js';
import { CallEvents, type ExecutedCall } from '../../web/contract/call-events.js';
import { ExecutionNews } from './execution-news.js';

const ended = (executionId: string, projectId = 'default'): ExecutedCall => ({
  ...{ kind: 'executed', executionId, tool: 'word_count', status: 'success', fault: false },
  ...{ executionTimeMs: 12, at: 0, test: false, probe: false, input: { text: 'secret' } },
  context: { userId: 'ann', requestId: executionId, projectId },
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
  calls.emit(ended('of-another', 'other'));
  jest.advanceTimersByTime(500);
  const batchFor = (...projects: string[]) =>
    topic?.within?.(ring?.from(0)?.entry as never, projects.length > 0 ? projects : undefined) as {
      ended: { id: string }[];
      more: number;
    };
  const batch = batchFor();
  expect([batch.ended.length, batch.ended[0]?.id, batch.more]).toEqual([500, 'e0', 3]);
  expect(JSON.stringify(batch)).not.toContain('secret');
  expect([batchFor('default').ended.length, batchFor('default').more]).toEqual([500, 2]);
  expect(batchFor('other')).toMatchObject({ ended: [], more: 1 });
  expect(batchFor('third')).toBeUndefined();
  stop?.();
  calls.emit(ended('after'));
  expect(jest.getTimerCount()).toBe(0);
});
