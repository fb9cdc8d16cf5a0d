/**
 * People sign in to the console at oidc-provider, in Chromium: with and without rights, until the session ends by time, by
 * a sign-out, or by a back-channel logout, which three replicas obey.
 */
import '../support/typescript.mjs';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import pg from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { chromiumPath, launchArguments } from '../browser/chromium.mjs';

const npm = process.env.npm_execpath;
const install = ['install', '--no-save', '--ignore-scripts', '--loglevel=error'];
execFileSync(npm ? process.execPath : 'npm', [...(npm ? [npm] : []), ...install], {
  stdio: 'inherit',
  cwd: new URL('../browser', import.meta.url).pathname,
});
const { default: Provider } = await import('oidc-provider');
const { chromium } = await import('../browser/node_modules/playwright-core/index.mjs');
const { startTestServer } = await import('../support/test-server.ts');
const { startReplicas } = await import('../support/replicas.ts');
const databases = await startTestServer();
Object.assign(process.env, databases.environment);

const freePort = async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
};
const ok = (what) => console.log(`ok ${what}`);

const listener = createServer();
await once(listener.listen(0, '127.0.0.1'), 'listening');
// Another host than the console's, so that the return comes from another site.
const issuer = `http://localhost:${listener.address().port}`;
const port = await freePort();
const base = `http://127.0.0.1:${port}`;
/** Groups of people; null: the person was removed. */
const groups = { nobody: ['others'] };
const provider = new Provider(issuer, {
  ttl: { AccessToken: 5 },
  issueRefreshToken: () => true,
  // A refresh token that comes twice ends the grant.
  rotateRefreshToken: true,
  clients: [
    {
      client_id: 'console',
      client_secret: 'secret-of-the-console',
      redirect_uris: [`${base}/console/sign-in`],
      post_logout_redirect_uris: [`${base}/console/sign-in`],
      backchannel_logout_uri: `${base}/api/v1/session/providers/logout`,
      backchannel_logout_session_required: true,
      grant_types: ['authorization_code', 'refresh_token'],
    },
  ],
  claims: { openid: ['sub', 'groups', 'name'] },
  conformIdTokenClaims: false,
  features: { backchannelLogout: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  // The provider's client refuses addresses of this machine by default.
  fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined }),
  findAccount: (_context, id) => {
    const { [id]: own = ['ops'] } = groups;
    // Not null, which this provider answers with 500.
    return own === null
      ? undefined
      : { accountId: id, claims: () => ({ sub: id, name: `${id} Example`, groups: own }) };
  },
});
listener.on('request', provider.callback());
let renewals = 0;
provider.on('grant.success', ({ oidc }) => (renewals += oidc.params.grant_type === 'refresh_token' ? 1 : 0));

const rules = [{ claim: 'groups', value: 'ops', role: 'admin' }];
const client = { clientId: 'console', clientSecret: 'secret-of-the-console', name: 'Acme' };
let started = 0;
const replicas = await startReplicas(
  {
    OIDC_ISSUERS: JSON.stringify([{ issuer, audiences: ['tools'], rules, console: client }]),
    PUBLIC_URL: base,
  },
  () => (started++ === 2 ? { PORT: String(port) } : {}),
);
let shown;
const browser = await chromium.launch({
  executablePath: chromiumPath(),
  args: launchArguments.map((each) => each.replace('EXCLUDE', 'EXCLUDE localhost, EXCLUDE')),
});

async function signIn(person) {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  await page.goto(`${base}/console/sign-in?to=/console/tools`);
  await page.getByRole('button', { name: 'Sign in with Acme' }).click();
  await page.locator('input[name=login]').fill(person);
  await page.locator('input[name=password]').fill('x');
  await page.locator('button[type=submit]').click();
  await page.locator('button[type=submit]').click();
  await page.waitForURL(`${base}/console/**`);
  return page;
}
/** The status of the page's session at each replica. */
const statuses = async (page) => {
  const cookies = await page.context().cookies(base);
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  return Promise.all(
    [shown, ...replicas.all].map(
      async ({ url }) => (await fetch(`${url}/api/v1/session`, { headers: { cookie } })).status,
    ),
  );
};
async function until(check, what, limitMs = 5_000) {
  const from = performance.now();
  while (!(await check())) {
    assert.ok(performance.now() - from < limitMs, `${what} within ${limitMs} ms`);
    await delay(20);
  }
  return performance.now() - from;
}

try {
  // Browsers come to this one of the three.
  shown = await replicas.start();
  const page = await signIn('alice');
  await page.getByText('alice Example').waitFor();
  assert.equal(new URL(page.url()).pathname, '/console/tools');
  assert.deepEqual(await statuses(page), [200, 200, 200]);
  ok('a person signs in and comes back to the page that was asked for; three replicas know the session');
  const acts = async (action) => {
    const { data } = (await replicas.all[0].http.get(`/api/v1/audit?action=${action}`)).body;
    return data.map(({ keyId, keyName }) => [keyId, keyName]);
  };
  assert.deepEqual(await acts('signIn'), [[`${issuer}#alice`, 'alice Example']]);
  ok('the audit names the person');

  const refused = await signIn('nobody');
  await refused.getByText(/nobody Example signed in at .*no access rule gives rights here/).waitFor();
  assert.deepEqual(await statuses(refused), [401, 401, 401]);
  ok('a person without rights is refused, with the reason');

  const second = await signIn('bob');
  await second.getByText('bob Example').waitFor();
  const database = new pg.Client(replicas.db.url);
  await database.connect();
  await database.query("UPDATE console_sessions SET expires_at = now() WHERE subject = 'bob'");
  await database.end();
  await until(async () => (await statuses(second)).every((each) => each === 401), 'the end of the session');
  await second.reload();
  await second.getByRole('heading', { name: 'Sign in to Toolkeeper' }).waitFor();
  ok('a session times out');

  const dora = await signIn('dora');
  await dora.getByText('dora Example').waitFor();
  // The page itself asks nothing meanwhile.
  await dora.goto('about:blank');
  let before = renewals;
  for (; renewals === before; await delay(1_000)) {
    before = renewals;
    const many = await Promise.all(Array.from({ length: 10 }, () => statuses(dora)));
    assert.deepEqual([...new Set(many.flat())], [200]);
    assert.ok(renewals - before <= 1, `${renewals - before} renewals`);
  }
  ok('30 requests at three replicas renew old claims once');
  const are = (status) => async () => (await statuses(dora)).every((each) => each === status);
  groups.dora = ['others'];
  await until(are(403), 'the refusal', 30_000);
  groups.dora = ['ops'];
  await until(are(200), 'the return', 30_000);
  ok(
    "a role that is taken away opens nothing after the access token's life, and opens when it is given back",
  );
  listener.closeAllConnections();
  listener.close();
  await delay(6_000);
  assert.deepEqual(await statuses(dora), [200, 200, 200]);
  await once(listener.listen(Number(new URL(issuer).port), '127.0.0.1'), 'listening');
  ok('a session goes on while the provider is away');
  groups.dora = null;
  await until(are(401), 'the end', 60_000);
  assert.deepEqual(await acts('endProviderSessions'), [[`${issuer}#dora`, 'dora Example']]);
  ok('a person who was removed is signed out, which the audit tells');

  const third = await signIn('carol');
  await third.getByText('carol Example').waitFor();
  await third.getByRole('button', { name: 'Sign out' }).click();
  await third.waitForURL(`${issuer}/session/end**`);
  assert.deepEqual(await statuses(third), [401, 401, 401]);
  await third.locator('button[name=logout]').click();
  await third.waitForURL(`${base}/console/sign-in**`);
  assert.deepEqual(await acts('signOut'), [[`${issuer}#carol`, 'carol Example']]);
  ok('a sign-out ends the session at three replicas and at the provider, and stands in the audit');

  // Alice signs out at the provider itself, which calls the console's back channel.
  const away = await page.context().newPage();
  await away.goto(`${issuer}/session/end?client_id=console`);
  const clicked = performance.now();
  await away.locator('button[name=logout]').click();
  await until(
    async () => (await statuses(page)).every((each) => each === 401),
    'the end at three replicas',
    2_000,
  );
  ok(
    `a logout at the provider ends the session at three replicas in ${Math.round(performance.now() - clicked)} ms`,
  );
  assert.deepEqual((await acts('endProviderSessions'))[0], [`${issuer}#alice`, 'alice Example']);
} finally {
  await browser.close();
  await replicas.stop();
  await databases.stop();
  listener.closeAllConnections();
  listener.close();
}
