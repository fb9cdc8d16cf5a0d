import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import assert from 'node:assert/strict';
import { URL } from 'node:url';
import { redirectUri } from './provider.mjs';

/** Follows redirects as a browser does, with cookies, up to the agent's own address `end`. `submit` answers a page with a form. */
export function browser(submit, end = redirectUri) {
  const jars = new Map();
  const visited = [];
  async function visit(address, init = {}) {
    const url = new URL(address, visited.at(-1));
    visited.push(url.href);
    if (url.href.startsWith(end)) return url.searchParams;
    const jar = jars.get(url.origin) ?? jars.set(url.origin, new Map()).get(url.origin);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { redirect: 'manual', ...init, headers: { ...init.headers, cookie } });
    for (const set of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set);
      jar.set(name, value);
    }
    const location = answer.headers.get('location');
    if (location !== null) return visit(location);
    const page = await answer.text();
    assert.ok(submit && answer.status === 200, `${answer.status} ${url.href} ${page}`);
    return visit(...submit(page, url));
  }
  return { visit, visited };
}

/** An agent that is given the URL alone, and keeps what its sign-in brings in memory. */
export function agentAt(url, { client, clientMetadataUrl, submit } = {}) {
  const kept = { client };
  const asked = [];
  const { visit, visited } = browser(submit);
  let callback;
  const authProvider = {
    redirectUrl: redirectUri,
    ...(clientMetadataUrl && { clientMetadataUrl }),
    clientMetadata: {
      client_name: 'Agent',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => 'state-of-the-agent',
    clientInformation: () => kept.client,
    saveClientInformation: (value) => (kept.client = value),
    tokens: () => kept.tokens,
    saveTokens: (value) => (kept.tokens = value),
    saveCodeVerifier: (value) => (kept.verifier = value),
    codeVerifier: () => kept.verifier,
    saveDiscoveryState: (value) => (kept.discovery = value),
    discoveryState: () => kept.discovery,
    redirectToAuthorization: async (address) => {
      asked.push(address);
      callback = await visit(address.href);
    },
  };
  let mcp;
  /** Signs in as often as the server asks for it, at most twice. */
  async function signedIn(work) {
    for (let turn = 0; ; turn++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof UnauthorizedError) || turn === 2) throw error;
        assert.equal(callback.get('state'), 'state-of-the-agent');
        await mcp.transport.finishAuth(callback);
      }
    }
  }
  async function connected() {
    if (mcp?.isOpen) return mcp;
    mcp = {
      client: new Client({ name: 'agent', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } }),
      transport: new StreamableHTTPClientTransport(new URL(url), { authProvider }),
    };
    await mcp.client.connect(mcp.transport);
    mcp.isOpen = true;
    return mcp;
  }
  return {
    kept,
    asked,
    visited,
    listTools: () => signedIn(async () => (await (await connected()).client.listTools()).tools),
    callTool: (name, input) =>
      signedIn(async () => (await connected()).client.callTool({ name, arguments: input })),
    close: () => mcp?.client.close(),
  };
}
