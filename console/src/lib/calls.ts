import type { Act } from './act.js';
import { client, failureOf } from './api.js';
import { eventsOf, type StreamEvent } from './event-stream.js';
import { readExactly } from './exact-json.js';

/**
 * Sends JSON text as it is written, and reads the answer with its numbers as they came.
 * @throws ApiError
 */
export async function sendExactly<T>(request: Request, signal?: AbortSignal): Promise<T> {
  const { method, path } = request;
  const { response, data, error } = await client.request<string, unknown>({
    ...{ method, url: path, bodySerializer: (text: unknown) => String(text), parseAs: 'text' },
    ...('body' in request && { body: request.body, headers: { 'content-type': 'application/json' } }),
    ...(signal && { signal }),
  });
  if (response?.ok === true) return readExactly(data ?? 'null') as T;
  throw failureOf(error, response);
}

type Request = Act | { readonly method: 'GET'; readonly path: string };

/** Reads an answer with its numbers as they came. @throws ApiError */
export const fetchExactly = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  sendExactly({ method: 'GET', path }, signal);

interface StreamOptions {
  readonly method: Act['method'] | 'GET';
  readonly url: string;
  /** JSON text, or a file. */
  readonly body?: string | Blob;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Opens a stream of events. @throws ApiError */
export async function openStream(
  { headers, ...request }: StreamOptions,
  signal: AbortSignal,
): Promise<AsyncIterable<StreamEvent>> {
  const { data, response, error } = await client.request<ReadableStream<Uint8Array>, unknown>({
    ...{ ...request, bodySerializer: (body: unknown) => body, parseAs: 'stream', signal },
    headers: { ...headers, accept: 'text/event-stream' },
  });
  if (response?.ok === true && data) return eventsOf(data);
  throw failureOf(error, response);
}
