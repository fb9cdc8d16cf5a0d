import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { until } from '../../test/support/wait.js';
import { WebSite } from '../../test/support/web-site.js';
import { type LaneSettings, type LaneReport, WebhookLane } from './webhooks.js';

const key = Buffer.from('a key of some length');
const secret = `whsec_${key.toString('base64')}`;

/** A receiver that answers as the test says: with each status in turn, then 204. */
async function startReceiver(
  statuses: (number | 'never' | 'cut')[],
  held: ServerResponse[],
): Promise<WebSite> {
  const receiver = await WebSite.start((request, answer) => {
    const status = statuses.shift() ?? 204;
    if (status === 'cut') request.socket.destroy();
    else if (status === 'never') held.push(answer);
    else answer.writeHead(status, { location: `${receiver.url}/elsewhere` }).end();
  });
  return receiver;
}

const receivers: WebSite[] = [];
const lanes: WebhookLane[] = [];
afterEach(async () => {
  for (const lane of lanes.splice(0)) await lane.stop();
  for (const receiver of receivers.splice(0)) await receiver.stop();
});

async function setUp(statuses: (number | 'never' | 'cut')[] = [], changes: Partial<LaneSettings> = {}) {
  const held: ServerResponse[] = [];
  const receiver = await startReceiver(statuses, held);
  receivers.push(receiver);
  const results: string[] = [];
  const reasons: (string | undefined)[] = [];
  const report: LaneReport = (result, why) => {
    results.push(result);
    reasons.push(why);
  };
  const limits = { timeoutMs: 60_000, maxAttempts: 5, maxQueue: 3, pause: { firstMs: 5, maxMs: 20 } };
  const lane = new WebhookLane({ url: `${receiver.url}/hook`, secret, ...limits, ...changes }, report);
  lanes.push(lane);
  return { receiver, held, lane, results, reasons };
}
const message = (id: string) => ({ id, body: JSON.stringify({ id, text: 'wörld' }) });
const delivered = (results: string[], count: number) =>
  until(() => results.filter((result) => result === 'delivered').length === count, { what: 'delivery' });

describe('WebhookLane', () => {
  it('signs each message as its receiver checks it', async () => {
    const { receiver, lane, results } = await setUp();
    lane.send(message('m-1'));
    await delivered(results, 1);
    const [first] = receiver.seen;
    if (!first) throw new Error('nothing was received');
    const { headers, body } = first;
    expect(body).toBe('{"id":"m-1","text":"wörld"}');
    expect(headers['content-type']).toBe('application/json');
    const at = headers['webhook-timestamp'];
    expect(Math.abs(Date.now() / 1_000 - Number(at))).toBeLessThan(300);
    const expected = createHmac('sha256', key)
      .update(`m-1.${String(at)}.${body}`)
      .digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${expected}`);
  });

  it('tries again with the same id, in order, whatever went wrong', async () => {
    const { receiver, lane, results, reasons } = await setUp([500, 'cut', 302, 429]);
    lane.send(message('m-1'));
    lane.send(message('m-2'));
    await delivered(results, 2);
    expect(receiver.seen.map(({ headers }) => headers['webhook-id'])).toEqual([
      ...Array<string>(5).fill('m-1'),
      'm-2',
    ]);
    expect(results).toEqual([...Array<string>(4).fill('retried'), 'delivered', 'delivered']);
    expect(reasons[0]).toBe('it answered 500');
    expect(reasons[2]).toBe('it answered 302');
  });

  it('follows no redirect', async () => {
    const { receiver, lane, results } = await setUp([307, 308], { maxAttempts: 2 });
    lane.send(message('m-1'));
    await until(() => results.includes('given_up'), { what: 'the end' });
    expect(receiver.seen).toHaveLength(2);
  });

  it('waits no longer for an answer than it may, and gives up after all tries', async () => {
    const { lane, results, reasons } = await setUp(['never', 'never'], { timeoutMs: 50, maxAttempts: 2 });
    lane.send(message('m-1'));
    await until(() => results.includes('given_up'), { what: 'the end' });
    expect(results).toEqual(['retried', 'given_up']);
    expect(lane.depth).toBe(0);
    expect(reasons[0]).toBe('no answer within 50 ms');
  });

  it('lets no more wait than it may: the oldest that waits makes room', async () => {
    const { receiver, held, lane, results } = await setUp(['never']);
    for (const id of ['m-1', 'm-2', 'm-3', 'm-4', 'm-5']) lane.send(message(id));
    expect(lane.depth).toBe(3);
    await until(() => held[0], { what: 'the first' });
    held[0]?.writeHead(200).end();
    await delivered(results, 3);
    expect(receiver.seen.map(({ headers }) => headers['webhook-id'])).toEqual(['m-1', 'm-4', 'm-5']);
    expect(results.filter((result) => result === 'dropped')).toHaveLength(2);
  });

  it('stops at once, and counts what was not sent', async () => {
    const { receiver, lane, results } = await setUp(['never']);
    lane.send(message('m-1'));
    lane.send(message('m-2'));
    await until(() => receiver.seen.length === 1, { what: 'the first' });
    await lane.stop();
    lane.send(message('m-3'));
    expect(results).toEqual(['dropped', 'dropped']);
    expect(lane.depth).toBe(0);
  });
});
