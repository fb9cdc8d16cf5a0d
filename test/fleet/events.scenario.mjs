import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../support/wait.ts';
import { counted, times, within } from './check.mjs';

/** Events have the same ids at each replica, a reader goes on at another one, and each is one webhook. */
export async function events({ fleet, checks, receiver }) {
  await fleet.register('eventful');
  await fleet.warm('eventful');
  const toggle = (action, { url }) =>
    fleet.ask('POST', `/api/v1/tool-health/eventful/circuit/${action}`, { reason: 'test' }, { url });
  const readers = await Promise.all(fleet.replicas.map(({ url }) => EventReader.open(fleet, url)));
  const isCircuits = ({ event }) => event.startsWith('circuit.');
  receiver.seen.length = 0;
  for (const n of times(6)) await toggle(n % 2 === 0 ? 'open' : 'close', fleet.replicas[n % 3]);
  await until(() => readers.every((reader) => reader.events.filter(isCircuits).length >= 6), {
    timeoutMs: within(10_000),
    what: 'six events at each replica',
  }).catch(() => undefined);
  const ids = readers.map((reader) => reader.events.filter(isCircuits).map(({ id }) => id));
  const isSame = new Set(ids.map((each) => [...each].sort().join())).size === 1;
  checks.check(
    ids.every(({ length }) => length === 6) && isSame,
    `6 events: heard ${ids.map(({ length }) => length).join(', ')} (6, 6, 6); same ids: ${isSame}`,
  );
  for (const reader of readers) reader.close();
  await resumed({ fleet, checks, id: ids[0][2], toggle });
  await until(() => new Set(receiver.seen.map(({ id }) => id)).size >= 8, {
    timeoutMs: within(20_000),
    what: 'webhooks',
  }).catch(() => undefined);
  await delay(1_000);
  const sent = receiver.seen.map(({ id }) => id);
  checks.check(
    new Set(sent).size === 8,
    `8 events: ${sent.length} webhooks with ${new Set(sent).size} ids (8)`,
  );
  await senderKilled({ fleet, checks, receiver, toggle });
}

/** @param id of the third of six events, which replica 1 has sent */
async function resumed({ fleet, checks, id, toggle }) {
  const reader = await EventReader.open(fleet, fleet.replicas[1].url, id);
  await toggle('open', fleet.replicas[2]);
  await toggle('close', fleet.replicas[2]);
  const isThere = () => reader.events.filter(({ event }) => event.startsWith('circuit.')).length >= 5;
  await until(isThere, { timeoutMs: within(10_000), what: 'events' }).catch(() => undefined);
  reader.close();
  const found = reader.events
    .filter(({ event }) => event.startsWith('circuit.') || event === 'reset')
    .map(({ event }) => event);
  checks.check(
    found.length === 5 && !found.includes('reset'),
    `Last-Event-ID at another replica: ${counted(found)} (three missed and two new, no reset)`,
  );
  const { body } = await fleet.ask(
    'GET',
    `/api/v1/events?since=${encodeURIComponent(id)}&tool=eventful`,
    undefined,
    { url: fleet.replicas[2].url },
  );
  checks.check(
    body.reset === false && body.data?.length === 5,
    `since at another replica: ${body.data?.length} events, reset ${body.reset} (5, false)`,
  );
}

async function senderKilled({ fleet, checks, receiver, toggle }) {
  receiver.seen.length = 0;
  receiver.isHolding = true;
  await toggle('open', fleet.replicas[0]);
  const first = await until(() => receiver.seen[0], { timeoutMs: within(20_000), what: 'a webhook' });
  const sender = fleet.replicas.find(({ child }) => hasPort(child.pid, first.port));
  if (!sender) throw new Error(`no replica has port ${first.port}`);
  await sender.end('SIGKILL');
  const killedAt = receiver.seen.length;
  receiver.release();
  await until(() => receiver.seen.length > killedAt, {
    timeoutMs: within(90_000),
    what: 'the webhook to be sent again',
  }).catch(() => undefined);
  await fleet.restore();
  const opened = receiver.seen.filter(({ type }) => type === 'circuit.opened').map(({ id }) => id);
  checks.check(
    opened.length > killedAt && new Set(opened).size === 1,
    `${sender.name} killed while it sent a webhook: sent ${opened.length} times with ${new Set(opened).size} id (again, 1 id)`,
  );
  await toggle('close', fleet.replicas[0]);
}

/** Whether a process has a TCP connection over IPv4 from this port. */
function hasPort(pid, port) {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const inodes = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local]) => local?.endsWith(`:${hex}`))
    .map((fields) => `socket:[${fields[9]}]`);
  return readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return inodes.includes(readlinkSync(`/proc/${pid}/fd/${fd}`));
    } catch {
      return false;
    }
  });
}

/** Follows the events of one replica. */
class EventReader {
  events = [];
  abort = new AbortController();

  static async open(fleet, url, lastId) {
    const reader = new EventReader();
    const headers = { ...fleet.key, accept: 'text/event-stream', ...(lastId && { 'last-event-id': lastId }) };
    const answer = await fetch(`${url}/api/v1/events?tool=eventful`, {
      headers,
      signal: reader.abort.signal,
    });
    reader.read(answer.body).catch(() => undefined);
    return reader;
  }

  async read(body) {
    let text = '';
    for await (const chunk of body.pipeThrough(new globalThis.TextDecoderStream())) {
      const parts = (text + chunk).split('\n\n');
      text = parts.pop();
      for (const part of parts) {
        const fields = Object.fromEntries(
          part.split('\n').map((line) => [line.split(': ')[0], line.slice(line.indexOf(': ') + 2)]),
        );
        if (fields.event) this.events.push({ event: fields.event, id: fields.id });
      }
    }
  }

  close() {
    this.abort.abort();
  }
}
