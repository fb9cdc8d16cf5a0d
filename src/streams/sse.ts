import type { IncomingHttpHeaders } from 'node:http';

/**
 * Headers of a stream of server-sent events. Its connection ends with it: one that became idle while the server closes
 * would hold that up until its keep-alive time is over. The last keeps nginx from collecting the stream.
 */
export const sseHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  connection: 'close',
  'x-accel-buffering': 'no',
};

export interface ServerSentEvent {
  /** The id that the client sends back as Last-Event-ID; without line breaks. */
  readonly id?: string;
  /** Name that the client listens for; without line breaks. */
  readonly event?: string;
  /** Sent as JSON. */
  readonly data: unknown;
}

/** One event on the wire. JSON holds no raw line break, so one `data` line always does. */
export function sseEvent({ id, event, data }: ServerSentEvent): string {
  const head = `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`;
  return `${head}data: ${JSON.stringify(data)}\n\n`;
}

/** A comment, which clients skip: it keeps proxies from closing a quiet stream, and finds the clients that have left. */
export const sseHeartbeat = ': still here\n\n';

/** A comment with a text of its own; without line breaks. */
export const sseComment = (text: string): string => `: ${text}\n\n`;

const eventStream = 'text/event-stream';

/**
 * Whether a client asks for events: it names them in its Accept header (a wildcard is no wish for a stream), and JSON
 * neither with a higher weight nor with the same weight before them.
 */
export function acceptsEvents({ accept }: Pick<IncomingHttpHeaders, 'accept'>): boolean {
  if (!accept || !/text\/event-stream/i.test(accept)) return false;
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return { type, weight: weight === undefined ? 1 : Number(weight) || 0 };
  });
  const best = ranges
    .filter(({ type, weight }) => weight > 0 && (type === eventStream || type === 'application/json'))
    .sort((a, b) => b.weight - a.weight)[0];
  return best?.type === eventStream;
}
