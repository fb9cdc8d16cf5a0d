import { once } from 'node:events';
import { request } from 'node:http';
import { SignInLinks, Sessions } from '../../src/web/auth/sessions.js';
import { bearer } from '../support/admin-key.js';
import { startApp, type TestApp } from '../support/app.js';
import { signIn } from '../support/browser-session.js';
import { supertest } from '../support/http.js';
import { until } from '../support/wait.js';

// real: three servers, two of them replicas on one database, HTTP; mock: nothing

const adminKey = 'a-key-of-enough-length';
/** On loopback, with a key that it made. */
let tk: TestApp;
let guarded: TestApp;
let replica: TestApp;
beforeAll(async () => {
  tk = await startApp();
  guarded = await startApp({ ADMIN_API_KEY: adminKey });
  replica = await startApp({ ADMIN_API_KEY: adminKey, DATABASE_URL: guarded.db.url });
});
afterAll(async () => {
  await replica.close();
  await Promise.all([tk.close(), guarded.close()]);
});

const make = async (body: object): Promise<{ id: string; key: string }> =>
  (
    await guarded.http
      .post('/api/v1/keys')
      .send({ name: 'person', ...body })
      .expect(201)
  ).body;
const session = (app: TestApp, headers: Record<string, string>) =>
  supertest(app.url).get('/api/v1/session').set(headers);

it('a stranger is read no longer body than a key needs', async () => {
  const body = { key: 'x', more: 'x'.repeat(20_000) };
  await tk.anonymous
    .post('/api/v1/session')
    .send(body)
    .expect(413, /payload_too_large/);
});

describe('a browser that signs in with a key', () => {
  it('gets a cookie that no script reads, and is told who it is', async () => {
    const answer = await guarded.anonymous.post('/api/v1/session').send({ key: adminKey }).expect(201);
    expect(String(answer.headers['set-cookie'])).toMatch(
      /^toolkeeper_session=\S+; Path=\/; Max-Age=4\d{4}; HttpOnly; SameSite=Strict$/,
    );
    expect(answer.headers['cache-control']).toBe('no-store');
    const { csrfToken, ...view } = answer.body;
    expect(view).toMatchObject({ userId: 'admin', keyId: 'admin', anonymous: false, tools: null });
    expect(view.environment).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      command: expect.stringMatching(/\/bin\/toolkeeper\.mjs$/),
      dataDir: expect.any(String),
      // It was configured.
      keyFile: null,
      replica: expect.any(String),
      database: 'own',
      grantablePaths: expect.any(Array),
      sandboxTier: expect.any(Number),
      limits: expect.objectContaining({ TOOL_INPUT_MAX_BYTES: 1_048_576 }),
    });
    expect(csrfToken).toMatch(/^[\w-]{43}$/);
    const [cookie = ''] = String(answer.headers['set-cookie']).split(';');
    expect((await session(guarded, { cookie }).expect(200)).body).toEqual(view);
    // The key itself is not in it, nor is the CSRF token.
    for (const secret of [adminKey, csrfToken]) expect(cookie).not.toContain(secret);
  });

  it.each([
    [{ key: 'not-a-key-of-this-server' }, 401],
    [{ once: 'never-was' }, 401],
    [{}, 400],
    [{ key: adminKey, once: 'x' }, 400],
    [{ key: 5 }, 400],
  ])('does not with %j', async (body, status) => {
    const answer = await guarded.anonymous.post('/api/v1/session').send(body).expect(status);
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('reads by the cookie alone, streams included; what changes something needs both halves', async () => {
    const { cookie, cookieAlone, page } = await signIn(guarded.url, { key: adminKey });
    await cookieAlone.get('/api/v1/keys').expect(200);
    const stream = request(`${guarded.url}/api/v1/events`, {
      headers: { cookie, accept: 'text/event-stream' },
    }).end();
    const [answer] = (await once(stream, 'response')) as [{ statusCode: number; destroy(): void }];
    expect(answer.statusCode).toBe(200);
    answer.destroy();
    const key = { name: 'by a page', scopes: ['tools:call'] };
    await cookieAlone.post('/api/v1/keys').send(key).expect(401);
    await page.post('/api/v1/keys').send(key).expect(201);
  });

  it('opens no route that writes to a listener that was sent the cookie', async () => {
    const { cookieAlone } = await signIn(guarded.url, { key: adminKey });
    const { body: document } = await guarded.http.get('/openapi.json').expect(200);
    const writing = ['post', 'put', 'patch', 'delete'] as const;
    const opened: string[] = [];
    for (const [pattern, methods] of Object.entries(document.paths as Record<string, object>))
      for (const method of writing.filter((each) => each in methods)) {
        const { status } = await cookieAlone[method](pattern.replaceAll(/\{\w+\}/g, 'x')).send({});
        if (status !== 401) opened.push(`${method} ${pattern} ${status}`);
      }
    expect(opened).toEqual([
      // Signing in shows a key of its own; signing out takes a cookie out of the asking browser, or ends its session.
      'post /api/v1/session 400',
      'delete /api/v1/session 204',
      // Beginning a sign-in changes nothing here: its cookie opens nothing without the answer of the provider.
      'post /api/v1/session/providers 400',
      // A provider has no key: its logout token carries its signature, and the cookie counts for nothing.
      'post /api/v1/session/providers/logout 400',
    ]);
  });

  it('changes nothing with another half, another session or no cookie, nor from another page', async () => {
    const mine = await signIn(guarded.url, { key: adminKey });
    const other = await signIn(guarded.url, { key: adminKey });
    const attempt = async (headers: Record<string, string>): Promise<number> =>
      (await supertest(guarded.url).delete('/api/v1/custom-tools/nothing').set(headers)).status;
    const both = { cookie: mine.cookie, 'x-toolkeeper-session': mine.csrfToken };
    expect(await attempt(both)).toBe(404);
    expect(await attempt({ ...both, 'x-toolkeeper-session': other.csrfToken })).toBe(401);
    expect(await attempt({ ...both, 'x-toolkeeper-session': '' })).toBe(401);
    expect(await attempt({ 'x-toolkeeper-session': mine.csrfToken })).toBe(401);
    expect(await attempt({ ...both, origin: guarded.url })).toBe(404);
    expect(await attempt({ ...both, origin: 'http://127.0.0.1:1' })).toBe(403);
    expect(await attempt({ ...both, origin: 'null' })).toBe(403);
    expect(await attempt({ ...both, 'sec-fetch-site': 'same-site' })).toBe(403);
    for (const origin of ['http://127.0.0.1:1', 'https://evil.example']) {
      await guarded.anonymous.post('/api/v1/session').set({ origin }).send({ key: adminKey }).expect(403);
      await guarded.anonymous.delete('/api/v1/session').set({ origin }).expect(403);
    }
  });

  it('may do what its key may, and no more', async () => {
    const { key, id } = await make({ scopes: ['tools:call'], tools: ['disk_*'] });
    const { page } = await signIn(guarded.url, { key });
    const { body } = await page.get('/api/v1/session').expect(200);
    expect(body).toMatchObject({
      ...{ userId: 'person', keyId: id, scopes: ['tools:call'], tools: ['disk_*'], environment: null },
    });
    await page.get('/api/v1/keys').expect(403);
    await page.post('/api/v1/tools/get_playbooks/execute').send({ input: {} }).expect(403);
  });

  it('signs out', async () => {
    const answer = await guarded.anonymous.delete('/api/v1/session').expect(204);
    expect(String(answer.headers['set-cookie'])).toMatch(/^toolkeeper_session=; Path=\/; Max-Age=0;/);
  });
});

describe('a session', () => {
  it('is good at every replica, and dies with its key at each within a second', async () => {
    const { key, id } = await make({ scopes: ['metrics:read'] });
    const { cookie } = await signIn(guarded.url, { key });
    const at = async (app: TestApp): Promise<number> => (await session(app, { cookie })).status;
    await until(async () => (await at(replica)) === 200, { what: 'the replica to know the key' });
    const { body } = await guarded.http.get(`/api/v1/keys/${id}`);
    expect(body.status).toBe('active');
    const stream = request(`${guarded.url}/api/v1/events`, {
      headers: { cookie, accept: 'text/event-stream' },
    }).end();
    const [answer] = (await once(stream, 'response')) as [NodeJS.ReadableStream];
    const ended = new Promise((resolve) => answer.once('close', resolve).once('error', resolve).resume());
    await guarded.http.delete(`/api/v1/keys/${id}`).expect(204);
    const revokedAt = performance.now();
    expect(await at(guarded)).toBe(401);
    await ended;
    await until(async () => (await at(replica)) === 401, { what: 'the replica to refuse the session' });
    expect(performance.now() - revokedAt).toBeLessThan(1_000);
  });

  it('is refused where anything of it was changed, and at a server with another key', async () => {
    const { cookie } = await signIn(guarded.url, { key: adminKey });
    const [name = '', value = ''] = cookie.split('=');
    const [keyId = '', expiresAt = '', half = '', signature = ''] = value.split('.');
    const forged = [
      [keyId, String(Number(expiresAt) + 1), half, signature],
      ['tk_other', expiresAt, half, signature],
      [keyId, expiresAt, 'x', signature],
      [keyId, expiresAt, half, ''],
      [keyId, expiresAt, half, (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)],
      [keyId, expiresAt, half],
      [],
    ].map((parts) => `${name}=${parts.join('.')}`);
    for (const cookie of forged) await session(guarded, { cookie }).expect(401);
    // There it is as good as none.
    const { body } = await session(tk, { cookie }).expect(200);
    expect(body).toMatchObject({ userId: 'anonymous', anonymous: true, keyId: null, expiresAt: null });
  });

  it('is over after twelve hours', async () => {
    const begunAgo = async (hours: number): Promise<number> => {
      const begun = guarded.app.get(Sessions).begin('admin', Date.now() - hours * 3_600_000);
      return (await session(guarded, { cookie: `toolkeeper_session=${begun?.cookie}` })).status;
    };
    expect([await begunAgo(11.99), await begunAgo(12.01)]).toEqual([200, 401]);
  });

  it('is not begun where nobody is asked for a key', async () => {
    const off = await startApp({ AUTH_MODE: 'off', DATABASE_URL: tk.db.url });
    const { body } = await off.anonymous.get('/api/v1/session').expect(200);
    expect(body).toMatchObject({ anonymous: true, scopes: expect.arrayContaining(['admin']) });
    await off.anonymous.post('/api/v1/session').send({ key: adminKey }).expect(401);
    await off.close();
  });
});

describe('a link that signs in once', () => {
  const make = (at?: number): string | undefined => tk.app.get(SignInLinks).make(at);

  it('makes the browser the operator, the first time', async () => {
    const { page } = await signIn(tk.url, { once: make() ?? '' });
    const { body } = await page.get('/api/v1/session').expect(200);
    expect(body).toMatchObject({ userId: 'admin', scopes: expect.arrayContaining(['admin']) });
    await page.get('/api/v1/keys').expect(200);
  });

  it('opens nothing the second time, and nothing after five minutes', async () => {
    const used = make() ?? '';
    await signIn(tk.url, { once: used });
    for (const once of [used, make(Date.now() - 300_001)]) {
      const { body } = await tk.anonymous.post('/api/v1/session').send({ once }).expect(401);
      expect(body.detail).toContain('five minutes');
    }
  });

  it('is not made where the key was configured', () => {
    expect(guarded.app.get(SignInLinks).make()).toBeUndefined();
  });
});

describe('on loopback without a configured key', () => {
  it('whoever has no session reads and calls; what needs the operator asks for the key', async () => {
    const { body } = await tk.anonymous.get('/api/v1/session').expect(200);
    expect(body).toMatchObject({ anonymous: true, environment: expect.any(Object) });
    expect(body.scopes).not.toContain('tools:admin');
    await tk.anonymous.delete('/api/v1/custom-tools/x').expect(401);
  });

  it('a name that was bound to this address opens nothing, by a session neither', async () => {
    const { cookie } = await signIn(tk.url, { once: tk.app.get(SignInLinks).make() ?? '' });
    const host = `evil.example:${new URL(tk.url).port}`;
    await session(tk, { cookie, host }).expect(403);
    await session(tk, { cookie, origin: `http://${host}` }).expect(403);
    await session(tk, { ...bearer(tk.key.authorization.slice(7)), host }).expect(200);
  });
});

describe('sign-ins in the audit', () => {
  const entries = async (): Promise<{ action: string; keyId: string; target: string }[]> =>
    (await tk.http.get('/api/v1/audit').query({ target: 'session' }).expect(200)).body.data;

  it('one that succeeds has one entry with its key; one that fails, and a sign-out, have none', async () => {
    const before = await entries();
    await signIn(tk.url, { key: tk.key.authorization.slice(7) });
    await tk.anonymous.post('/api/v1/session').send({ key: 'wrong' }).expect(401);
    await tk.anonymous.delete('/api/v1/session').expect(204);
    const added = (await entries()).slice(0, -before.length || undefined);
    expect(added).toEqual([expect.objectContaining({ action: 'signIn', keyId: 'admin', userId: 'admin' })]);
  });

  it('too many that fail are refused until a minute is over', async () => {
    const statuses = [];
    for (let n = 0; n < 25; n++)
      statuses.push((await replica.anonymous.post('/api/v1/session').send({ key: `wrong ${n}` })).status);
    expect(statuses.slice(0, 20)).toEqual(Array(20).fill(401));
    expect(statuses.slice(20)).toEqual(Array(5).fill(429));
    const { headers } = await replica.anonymous.post('/api/v1/session').send({ key: 'wrong' }).expect(429);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    await replica.anonymous.post('/api/v1/session').send({ key: adminKey }).expect(201);
  });
});

describe('a cookie that a page on another port has set', () => {
  it('does not win', async () => {
    const { cookie, csrfToken } = await signIn(guarded.url, { key: adminKey });
    const other = await signIn(guarded.url, { key: (await make({ scopes: ['tools:call'] })).key });
    // Browsers send the one with the longer path first.
    const both = `toolkeeper_session=nonsense; ${other.cookie}; ${cookie}`;
    const { body } = await session(guarded, { cookie: both }).expect(200);
    expect(body.userId).toBe('admin');
    await supertest(guarded.url)
      .delete('/api/v1/keys/00000000000000000000')
      .set({ cookie: `${cookie}; ${other.cookie}`, 'x-toolkeeper-session': csrfToken })
      .expect(404);
  });
});
