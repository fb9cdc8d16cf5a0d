import type { Act } from './act.js';
import { ApiError, client, type OutcomeView } from './api.js';
import { readExactly } from './exact-json.js';

/**
 * Sends JSON text as it is written, and reads the answer with its numbers as they came.
 * @throws ApiError
 */
export async function sendExactly<T>({ method, path, body }: Act, signal?: AbortSignal): Promise<T> {
  const { response, data, error } = await client.request<string, unknown>({
    ...{ method, url: path, body, bodySerializer: (text: unknown) => String(text), parseAs: 'text' },
    headers: { 'content-type': 'application/json' },
    ...(signal && { signal }),
  });
  if (response?.ok === true) return readExactly(data ?? 'null') as T;
  throw new ApiError(typeof error === 'object' && error !== null ? error : {}, response);
}

export const call = (act: Act, signal: AbortSignal): Promise<OutcomeView> => sendExactly(act, signal);
