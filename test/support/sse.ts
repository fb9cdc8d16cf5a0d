import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Json } from './json.js';

export interface SentEvent {
  readonly event: string;
  readonly data: Json;
}

/** An answer that streams events, as it comes. */
export interface EventAnswer {
  readonly response: IncomingMessage;
  /** The next event; undefined at the end. */
  next(): Promise<SentEvent | undefined>;
  /** All that are still to come. */
  rest(): Promise<SentEvent[]>;
  /** Everything that was read, comments included. */
  raw(): string;
}

interface EventRequest {
  readonly signal?: AbortSignal;
  readonly key?: { readonly authorization: string };
  readonly headers?: Readonly<Record<string, string>>;
}

/** POSTs over a connection of its own and asks for events; aborting `signal` leaves. */
export async function postForEvents(
  url: string,
  body: unknown,
  { signal, key, headers: more }: EventRequest = {},
): Promise<EventAnswer> {
  const headers = { ...key, accept: 'text/event-stream', 'content-type': 'application/json', ...more };
  const sent = request(url, { method: 'POST', agent: false, headers, signal });
  sent.end(JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks = response.setEncoding('utf8')[Symbol.asyncIterator]() as AsyncIterator<string>;
  let raw = '';
  let seen = 0;
  const next = async (): Promise<SentEvent | undefined> => {
    for (;;) {
      const end = raw.indexOf('\n\n', seen);
      if (end < 0) {
        const chunk = await chunks.next();
        if (chunk.done) return undefined;
        raw += chunk.value;
        continue;
      }
      const [event, data] = raw.slice(seen, end).split('\n');
      seen = end + 2;
      if (event?.startsWith('event: ') && data)
        return { event: event.slice('event: '.length), data: JSON.parse(data.slice('data: '.length)) };
    }
  };
  const rest = async (): Promise<SentEvent[]> => {
    const all: SentEvent[] = [];
    for (let event = await next(); event; event = await next()) all.push(event);
    return all;
  };
  return { response, next, rest, raw: () => raw };
}
