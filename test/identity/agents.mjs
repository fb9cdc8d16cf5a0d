import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startPlatformServer } from '../platforms/platform-server.mjs';
import { agentAt } from './agent.mjs';
import { freePort } from './free-port.mjs';
import { clientMetadataUrl, startProvider } from './provider.mjs';
import { tokensOf } from './sign-in.mjs';

// real: oidc-provider, the official MCP client, the built server, HTTP; mock: the page at the client's own https address

describe('the official MCP client signs in at oidc-provider, and calls', () => {
  let provider;
  let server;
  let url;
  before(async () => {
    provider = await startProvider();
    const port = await freePort();
    url = `http://127.0.0.1:${port}/mcp`;
    const rules = [
      { claim: 'roles', value: 'agents', role: 'operator' },
      { claim: 'roles', value: 'agents', role: 'agent' },
    ];
    server = await startPlatformServer({
      PORT: String(port),
      // With a key of its own file a server lets local callers in without any.
      ADMIN_API_KEY: 'a-key-of-the-operator-for-this-test',
      OIDC_ISSUERS: JSON.stringify([{ issuer: provider.issuer, audiences: [url], rules }]),
    });
  });
  after(async () => {
    await server.stop();
    provider.stop();
  });

  const ways = {
    'as a registered client': [{ client: { client_id: 'registered' } }, /^registered$/],
    'by dynamic registration': [{}, /^[\w-]{20,}$/],
    'by its metadata document': [{ clientMetadataUrl }, /^https:\/\/client\.example\/agent\.json$/],
  };
  for (const [how, [options, id]] of Object.entries(ways))
    it(how, async () => {
      const agent = agentAt(url, options);
      const tools = await agent.listTools();
      const { name } = tools.find(({ inputSchema }) => inputSchema.properties?.text);
      const { content, isError } = await agent.callTool(name, { text: 'ERROR disk full' });
      assert.ok(!isError, JSON.stringify(content));
      const [address] = agent.asked;
      assert.equal(agent.asked.length, 1);
      assert.match(address.searchParams.get('client_id'), id);
      assert.equal(address.searchParams.get('resource'), url);
      assert.equal(address.searchParams.get('scope').includes('tools:call'), true);
      const { data } = await server.ask('tool-metrics/executions?limit=1');
      assert.equal(data[0].userId, 'alice');
      await agent.close();
    });

  it('a token of other scopes is stepped up by a second consent', async () => {
    const tokens = await tokensOf(provider, url, 'metrics:read');
    const agent = agentAt(url, { client: { client_id: 'registered' } });
    agent.kept.tokens = { ...tokens, issuer: provider.issuer };
    const before = provider.consents.length;
    const { name } = (await agent.listTools()).find(({ inputSchema }) => inputSchema.properties?.text);
    const { isError } = await agent.callTool(name, { text: 'ERROR disk full' });
    assert.ok(!isError);
    assert.equal(provider.consents.length, before + 1);
    assert.match(provider.consents.at(-1), /tools:call/);
    await agent.close();
  });
});
