import { createRemoteJWKSet, jwtVerify } from 'jose';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { URL } from 'node:url';

/**
 * An MCP server whose tool `whoami` answers with the subject and the client of the token that it is called with.
 * @param jwks address of the keys of the issuer whose tokens it takes
 * @param audienceOf the audience that they must have, given the server's address
 */
export async function startTokenServer(jwks, audienceOf = (url) => url) {
  const keys = createRemoteJWKSet(new URL(jwks));
  /** All tokens that it was shown. */
  const shown = [];
  const answerTo = async ({ method, params }, claims) => {
    if (method === 'initialize')
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'tokens', version: '1' },
      };
    if (method === 'tools/list') return { tools: [{ name: 'whoami', inputSchema: { type: 'object' } }] };
    const { sub, azp, client_id: client = azp } = claims;
    return { content: [{ type: 'text', text: `${sub} through ${client}` }] };
  };
  const server = createServer(async (request, response) => {
    const token = request.headers.authorization?.slice('Bearer '.length) ?? '';
    shown.push(token);
    const claims = await jwtVerify(token, keys, { audience: audienceOf(url) }).then(
      ({ payload }) => payload,
      () => undefined,
    );
    const message = JSON.parse((await text(request)) || '{}');
    const end = (status, body) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (!claims) return end(401, {});
    if (message.method === 'server/discover')
      return end(200, { jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'unknown' } });
    if (message.id === undefined) return end(request.method === 'POST' ? 202 : 405, {});
    end(200, { jsonrpc: '2.0', id: message.id, result: await answerTo(message, claims) });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${server.address().port}/mcp`;
  return {
    url,
    shown,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
