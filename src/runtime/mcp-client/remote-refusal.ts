import type { Dispatcher } from 'undici';
import { isObject } from '../../base/common/json.js';
import { readAtMost } from '../../base/outbound/http-client.js';

/** The error of JSON-RPC by which a request is answered that its server refused. */
export interface Refusal {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

const maxBytes = 65_536;
const maxChars = 500;
/** Headers of a refusal that are passed on to the caller. */
const namedHeaders = ['retry-after', 'www-authenticate'];
const internalError = -32603;
const methodNotFound = -32601;

export const refusal = (message: string): Refusal => ({ code: internalError, message });

/** Whether a `ping` failed: a server need not know it. */
export const isFailedPing = (method: string, { code }: Refusal): boolean =>
  method === 'ping' && code !== methodNotFound;

/** Reads why a server answered with a status that is no success. */
export async function readRefusal(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  url: URL,
): Promise<{ readonly error: Refusal; readonly namesSession: boolean }> {
  const text = (await readAtMost(body, maxBytes)).body.toString();
  const error = errorIn(text);
  const { location } = headers;
  const next =
    statusCode >= 300 && statusCode < 400 && location !== undefined && URL.parse(String(location), url.href);
  const message = [
    `It answered ${statusCode}${error ? `: ${error.message}` : ''}`,
    ...(next ? [`it redirects to ${next.href.slice(0, maxChars)}: register that URL`] : []),
    ...namedHeaders.flatMap((name) =>
      headers[name] === undefined ? [] : [`${name}: ${String(headers[name]).slice(0, maxChars)}`],
    ),
  ].join('; ');
  return { error: { ...refusal(message), ...error, message }, namesSession: /session|initializ/i.test(text) };
}

/** The error of JSON-RPC in a text, whichever request it names. */
export function errorIn(text: string): Refusal | undefined {
  try {
    const message: unknown = JSON.parse(text);
    const error = isObject(message) ? message['error'] : undefined;
    if (!isObject(error) || !Number.isInteger(error['code']) || typeof error['message'] !== 'string')
      return undefined;
    return { code: Number(error['code']), message: error['message'], data: error['data'] };
  } catch {
    return undefined;
  }
}
