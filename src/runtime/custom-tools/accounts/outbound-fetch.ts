import { type OutboundRules, portOfUrl } from '../../../base/outbound/addresses.js';
import { Destination } from '../../../base/outbound/connector.js';
import { readAtMost } from '../../../base/outbound/http-client.js';

/** Timeout of a request. Tokens are refreshed within a transaction, whose timeout is longer. */
const timeoutMs = 8_000;
const maxBytes = 262_144;
/** Statuses of answers that must have no body. */
const bodilessStatuses = [101, 204, 205, 304];

/**
 * A `fetch` for addresses that an MCP server names: bounded in time and bytes, without redirects.
 * @param named addresses that the operator configured. Only these, with their port, may be private.
 */
export const outboundFetch =
  (named: readonly (string | undefined)[], rules: OutboundRules, ownPort: () => number | undefined) =>
  async (address: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(address, init);
    const url = new URL(request.url);
    const obstacle = (found: string | undefined): string | undefined =>
      named.some((each) => URL.parse(each ?? '')?.host === url.host)
        ? undefined
        : rules.obstacle(url.hostname, portOfUrl(url), found);
    const dispatcher = new Destination(url, { timeoutMs, ownPort, obstacle }).dispatcher();
    try {
      const { statusCode, headers, body } = await dispatcher.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: request.method,
        headers: Object.fromEntries(request.headers),
        body: (await request.text()) || null,
        signal: AbortSignal.timeout(timeoutMs),
      });
      const read = await readAtMost(body, maxBytes);
      if (!read.whole) throw new Error(`${url.host} answered with over ${maxBytes} bytes`);
      const content = bodilessStatuses.includes(statusCode) ? null : new Uint8Array(read.body);
      const answerHeaders = Object.entries(headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]);
      return new Response(content, { status: statusCode, headers: answerHeaders });
    } finally {
      void dispatcher.destroy();
    }
  };
