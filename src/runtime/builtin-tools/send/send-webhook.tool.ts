import { DelegateBackoff, handleType, retry } from 'cockatiel';
import type { AppConfig } from '../../../base/config/app-config.js';
import { backOff } from '../../../base/common/back-off.js';
import { retryAfterMs } from '../../../base/outbound/http-client.js';
import { secretBytes, signatureHeaders } from '../../../base/outbound/webhook-signature.js';
import { defineTool, words } from '../../../web/contract/define-tool.js';
import type { Tool } from '../../../web/contract/tool.js';
import { ToolFailure } from '../../../web/contract/tool-outcome.js';
import { awayFailure, callerMistake } from '../failures.js';
import { NotSent, type OutboundAnswer, type OutboundHttp } from '../web/outbound-http.js';

interface Input {
  readonly url: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Max `Retry-After` that is obeyed. An answer with a longer one is not retried. */
const maxPauseMs = 5_000;

/** The tool that sends signed webhooks. @param secret signing secret, `whsec_…` or text */
export const sendWebhook = (
  http: OutboundHttp,
  secret: string,
  limits: AppConfig['builtinTools']['webhook'],
): Tool =>
  defineTool<Input>({
    name: 'sendWebhook',
    description:
      "Send a JSON object to a URL (POST). The receiver can verify the sender, and recognises repetitions by the id. Answers the receiver's response, also a refusal.",
    input: {
      type: 'object',
      properties: {
        url: words(8_192, 'http or https'),
        payload: { type: 'object', description: 'The body' },
        headers: {
          type: 'object',
          maxProperties: 32,
          propertyNames: { pattern: '^[A-Za-z0-9-]{1,100}$' },
          additionalProperties: { type: 'string', pattern: '^[\\x20-\\x7e]*$', maxLength: 4_096 },
          default: {},
          description: 'More headers',
        },
      },
      required: ['url', 'payload'],
      additionalProperties: false,
    },
    annotations: { readOnly: false, idempotent: false, destructive: true, openWorld: true },
    tags: ['webhooks'],
    timeoutMs: 60_000,
    upstream: 'The answer of the receiver, which may have got the webhook,',
    run: async ({ url, payload, headers }, { executionId, signal }) => {
      refuseServerHeaders(headers);
      const body = JSON.stringify(payload);
      const send = (): Promise<OutboundAnswer> => {
        const timestamp = Math.floor(Date.now() / 1_000);
        const serverHeaders = {
          ...signatureHeaders(secretBytes(secret), { id: executionId, timestamp, body }),
          'idempotency-key': executionId,
          'content-type': 'application/json',
          accept: 'application/json, text/*;q=0.9, */*;q=0.5',
        };
        const { timeoutMs, maxResponseBytes: maxBytes } = limits;
        const sentHeaders = { ...lowerCased(headers), ...serverHeaders };
        return http.send(
          { url, method: 'POST', headers: sentHeaders, body, timeoutMs, maxBytes, maxRedirects: 0 },
          signal,
        );
      };
      try {
        return resultOf(url, await retryPolicy(limits).execute(send, signal));
      } catch (error) {
        if (!(error instanceof ToolFailure) || error.type !== 'upstream_unavailable') throw error;
        throw error instanceof NotSent ? error : awayFailure(`${error.message}. It may have got the webhook`);
      }
    },
  });

/** Retries requests that were not sent, and those that the receiver refused with 429 or 503. */
const retryPolicy = ({ retries, pauseMs }: AppConfig['builtinTools']['webhook']) =>
  retry(
    handleType(NotSent).orWhenResult((answer) => isRetryable(answer as OutboundAnswer)),
    {
      maxAttempts: retries,
      backoff: new DelegateBackoff(({ attempt, result }) => {
        const requestedMs = 'value' in result ? requestedPauseMs(result.value as OutboundAnswer) : 0;
        return Math.max(requestedMs, backOff(attempt, { firstMs: pauseMs, maxMs: maxPauseMs, jitter: 0.5 }));
      }),
    },
  );

/** Whether a refusal may be temporary, and the receiver asks for no long pause. */
const isRetryable = (answer: OutboundAnswer): boolean =>
  [429, 503].includes(answer.status) && requestedPauseMs(answer) <= maxPauseMs;

/** Pause that the receiver asks for. */
const requestedPauseMs = ({ headers }: OutboundAnswer): number =>
  retryAfterMs(headers.get('retry-after') ?? undefined, Date.now());

/** The result of the tool. */
function resultOf(url: string, { status, statusText, body }: OutboundAnswer): object {
  const text = body.toString('utf8');
  return { url, status, statusText, success: status >= 200 && status < 300, response: jsonIn(text) ?? text };
}

/** The value of a JSON text; undefined for any other text. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Names of headers that the server sets itself: signature, connection and form of the body. */
const serverHeaderNames =
  /^(webhook-.*|proxy-.*|idempotency-key|content-.*|host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|accept-encoding)$/i;

/** Headers with lower-case names, so that names that differ only in case are one header. */
const lowerCased = (headers: Input['headers']): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** @throws ToolFailure if the caller names a header that the server sets */
function refuseServerHeaders(headers: Input['headers']): void {
  const refused = Object.keys(headers).find((name) => serverHeaderNames.test(name));
  if (refused !== undefined) throw callerMistake(`headers must not name ${refused}: it is set by the server`);
}
