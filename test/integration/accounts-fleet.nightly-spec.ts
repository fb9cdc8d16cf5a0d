import { type Fleet, type FleetReplica, startFleet } from '../support/fleet.js';
import { mapLimit } from '../support/map-limit.js';
import { OAuthMcpServer } from '../support/oauth-mcp-server.js';
import { SmallBrowser } from '../support/small-browser.js';
import { until } from '../support/wait.js';

// real: three servers in processes of their own, PostgreSQL, HTTP, an MCP server with its authorization server; mock: the browser is one of ours

let fleet: Fleet;
let upstream: OAuthMcpServer;
const key: Record<string, { authorization: string }> = {};
const people = ['alice', 'bob'];
beforeAll(async () => {
  [fleet, upstream] = await Promise.all([startFleet(3, { LOG_LEVEL: 'debug' }), OAuthMcpServer.start()]);
  const [{ http }] = fleet.replicas as [FleetReplica];
  const server = { name: 'mine', protocol: 'mcp', url: upstream.url, credentials: 'user', timeoutMs: 60_000 };
  await http.post('/api/v1/custom-tools').send(server).expect(201);
  for (const owner of people) {
    const made = await http
      .post('/api/v1/keys')
      .send({ name: owner, owner, scopes: ['tools:call'] })
      .expect(201);
    key[owner] = { authorization: `Bearer ${made.body.key}` };
    await signIn(owner);
  }
  for (const { http: each } of fleet.replicas)
    await until(async () => (await each.get('/api/v1/tools/mine__whoami')).status === 200, {
      what: 'the tool',
    });
}, 120_000);
afterAll(async () => {
  await fleet.stop();
  await upstream.stop();
});

const call = (n: number, who: string) => fleet.replicas[n % 3]!.call('mine__whoami', {}, key[who]);

/** Signs a person in at the replica to which the link leads. */
async function signIn(who: string): Promise<void> {
  const refused = await until(
    async () => {
      const answer = await fleet.replicas[0]!.http.get('/api/v1/accounts').set(key[who]!);
      return answer.body.data[0] as { signInUrl: string } | undefined;
    },
    { what: 'the server' },
  );
  upstream.person = who;
  const { status } = await new SmallBrowser().signIn(refused.signInUrl);
  expect(status).toBe(200);
}

/** What 50 calls at once got, spread over the replicas. */
const atOnce = (who: string, calls = 50): Promise<string[]> =>
  Promise.all(
    Array.from({ length: calls }, async (_, n) => {
      const { status, body } = await call(n, who);
      return status === 200 && body.status === 'success' ? body.result.content[0].text : JSON.stringify(body);
    }),
  );

it('refreshes an account once when three replicas need it at the moment of expiry, and loses none', async () => {
  upstream.lifetimeS = 5;
  upstream.expire();
  const rounds: number[] = [];
  for (let round = 0; round < 20; round++) {
    const before = upstream.refreshes;
    // Half of the rounds find the token refused, the others know that it is over.
    if (round % 2 === 0) upstream.expire();
    else await until(() => upstream.lastExpiry <= Date.now() + 500, { what: 'the moment of expiry' });
    expect(new Set(await atOnce('alice'))).toEqual(new Set(['alice']));
    rounds.push(upstream.refreshes - before);
  }
  expect(rounds).toEqual(Array(20).fill(1));
  expect(upstream.lost).toBe(0);
}, 240_000);

it('never mixes two people up in calls that come mixed', async () => {
  upstream.lifetimeS = 3_600;
  for (const who of people) await signIn(who);
  const calls = Number(process.env['MIXED_CALLS'] ?? 600);
  const wrong: string[] = [];
  await mapLimit(Array.from({ length: calls }).keys(), 24, async (n) => {
    const who = people[(n % 7) % 2]!;
    const { body } = await call(n, who);
    const said = body.result?.content?.[0]?.text ?? JSON.stringify(body);
    if (said !== who) wrong.push(`${who}: ${said}`);
  });
  expect(wrong).toEqual([]);
}, 600_000);

it('asks at each replica for an account that was ended at the other side, and serves it after the sign-in', async () => {
  upstream.revoke();
  const statuses = async (): Promise<number[]> =>
    Promise.all(fleet.replicas.map(async (_, n) => (await call(n, 'alice')).status));
  expect(await statuses()).toEqual([409, 409, 409]);
  await signIn('alice');
  await until(async () => (await statuses()).every((status) => status === 200), { what: 'all replicas' });
  expect(new Set(await atOnce('alice'))).toEqual(new Set(['alice']));
});

it('keeps tokens and links out of the logs', () => {
  const logs = fleet.replicas.map((each) => each.log()).join('\n');
  expect(logs).toContain('accounts/sign-in');
  expect(logs).not.toMatch(/sign-in\S*link=/);
  expect(upstream.issued.filter((token) => logs.includes(token))).toEqual([]);
});
