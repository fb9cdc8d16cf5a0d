import type { Json } from './json.js';

export interface SentEvent {
  readonly event: string;
  readonly data: Json;
}

/** An answer that streams events, as it comes. */
export interface EventSourceAnswer {
  readonly response: Response;
  /** The next event; undefined at the end. */
  next(): Promise<SentEvent | undefined>;
  /** All that are still to come. */
  rest(): Promise<SentEvent[]>;
  /** Everything that was read, comments included. */
  readonly raw: () => string;
}

/** POSTs over real HTTP and asks for events; aborting `signal` leaves. */
export async function postForEvents(
  url: string,
  body: unknown,
  { signal, headers = {} }: { signal?: AbortSignal; headers?: Record<string, string> } = {},
): Promise<EventSourceAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { accept: 'text/event-stream', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let raw = '';
  let seen = 0;
  const next = async (): Promise<SentEvent | undefined> => {
    for (;;) {
      const end = raw.indexOf('\n\n', seen);
      if (end >= 0) {
        const block = raw.slice(seen, end);
        seen = end + 2;
        const [event, data] = block.split('\n');
        if (event?.startsWith('event: ') && data)
          return { event: event.slice(7), data: JSON.parse(data.slice('data: '.length)) };
        continue;
      }
      const chunk = await reader?.read();
      if (!chunk || chunk.done) return undefined;
      raw += chunk.value;
    }
  };
  const rest = async (): Promise<SentEvent[]> => {
    const all: SentEvent[] = [];
    for (let event = await next(); event; event = await next()) all.push(event);
    return all;
  };
  return { response, next, rest, raw: () => raw };
}
