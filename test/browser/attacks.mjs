import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { reboundName } from './chromium.mjs';
import { openLab } from './lab.mjs';

// real: the built server with its own PostgreSQL, tools' processes, Chromium, other pages on other ports; mock: nothing

const notToBe = { name: 'evil', command: 'python3', args: ['-c', 'pass'] };
const json = { 'content-type': 'application/json' };

/** All that a page can send without leave, at whatever may change something. Runs in that page. */
const attack = async ([url, body]) => {
  const targets = [
    ['POST', '/api/v1/custom-tools'],
    ['PATCH', '/api/v1/custom-tools/word_count'],
    ['DELETE', '/api/v1/custom-tools/word_count'],
    ['POST', '/api/v1/tools/word_count/execute'],
    ['POST', '/api/v1/tool-health/word_count/circuit/open'],
    ['POST', '/api/v1/keys'],
    ['DELETE', '/api/v1/session'],
  ];
  const ways = [
    { headers: { 'content-type': 'application/json' } },
    { headers: { 'content-type': 'text/plain' } },
    { headers: { 'content-type': 'text/plain' }, mode: 'no-cors' },
  ];
  const read = [];
  const reach = async (method, path, way) => {
    try {
      const sent = method === 'GET' ? {} : { body };
      const reply = await fetch(url + path, { method, credentials: 'include', ...sent, ...way });
      if (reply.type !== 'opaque' && reply.ok) read.push(`${method} ${path}`);
    } catch {
      // Refused by the browser or not answered: nothing was read.
    }
  };
  for (const [method, path] of targets) for (const way of ways) await reach(method, path, way);
  for (const path of ['/api/v1/keys', '/api/v1/tools', '/api/v1/session']) await reach('GET', path, {});
  window.navigator.sendBeacon(`${url}/api/v1/custom-tools`, body);
  for (const [method, path] of targets.filter(([each]) => each === 'POST')) {
    const form = document.createElement('form');
    const frame = document.createElement('iframe');
    frame.name = path;
    Object.assign(form, { method, action: url + path, enctype: 'text/plain', target: path });
    const field = document.createElement('input');
    Object.assign(field, { name: body.slice(0, -1), value: '}' });
    form.append(field);
    document.body.append(frame, form);
    const answered = new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }));
    form.submit();
    await answered;
  }
  return read;
};

/** A page of somebody else on another port of this host; it keeps the cookies that it was sent. */
async function openForeignPage() {
  const cookies = [];
  const server = createServer(({ headers }, reply) => {
    cookies.push(headers.cookie);
    reply.setHeader('content-type', 'text/html').end('<title>Elsewhere</title><body>');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cookies,
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  };
}

describe('attacks', () => {
  let lab;
  let foreign;
  let visitor;
  before(async () => {
    lab = await openLab();
    foreign = await openForeignPage();
    await lab.register('word_count');
    // Not watched: what goes wrong in a foreign page is the point.
    const context = await lab.browser.newContext();
    const page = await context.newPage();
    visitor = { page, context, open: (path) => page.goto(`${lab.url}/console${path}`) };
    await lab.signIn(visitor);
  });
  after(async () => {
    await foreign.close();
    await lab.close();
  });

  const nothingHappened = async () => {
    const { body: tools } = await lab.api('GET', '/api/v1/custom-tools');
    assert.ok(!tools.data.some(({ name }) => name === 'evil'));
    const { body: tool } = await lab.api('GET', '/api/v1/custom-tools/word_count');
    assert.equal(tool.revision, 1);
    const { body: circuit } = await lab.api('GET', '/api/v1/tool-health/word_count/circuit');
    assert.equal(circuit.state, 'closed');
    const { body: keys } = await lab.api('GET', '/api/v1/keys');
    assert.ok(!keys.data.some(({ name }) => name === 'evil'));
    const { body: executions } = await lab.api('GET', '/api/v1/tool-metrics/executions?tool=word_count');
    assert.deepEqual(executions.data, []);
  };

  it('a page on another port can neither change nor read, whoever is signed in', async () => {
    await visitor.page.goto(foreign.url);
    assert.deepEqual(await visitor.page.evaluate(attack, [lab.url, JSON.stringify(notToBe)]), []);
    await nothingHappened();
    await visitor.open('/tools/word_count/settings');
    await visitor.page.getByRole('button', { name: 'Sign out' }).waitFor();
  });

  it('a name that was bound to this address opens nothing', async () => {
    const page = await visitor.context.newPage();
    const rebound = lab.url.replace('127.0.0.1', reboundName);
    await page.goto(`${rebound}/console/`);
    // Signing out takes the cookie of that name, which there is none of.
    assert.deepEqual(await page.evaluate(attack, [rebound, JSON.stringify(notToBe)]), [
      'DELETE /api/v1/session',
    ]);
    const status = await page.evaluate(async () => (await fetch('/api/v1/tools')).status);
    assert.equal(status, 403);
    await nothingHappened();
    await page.close();
  });

  it('a listener on another port is sent the cookie, and no route that writes takes it', async () => {
    await visitor.page.goto(foreign.url);
    const cookie = foreign.cookies.at(-1);
    assert.match(cookie, /toolkeeper_session=/);
    const { body: document } = await lab.api('GET', '/openapi.json');
    const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => ['post', 'put', 'patch', 'delete'].includes(method))
        .map((method) => [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'word_count')]),
    );
    assert.ok(routes.length > 30);
    for (const [method, path] of routes) {
      const attempt = async (headers) =>
        (await fetch(lab.url + path, { method, headers: { ...json, ...headers }, body: '{}' })).status;
      assert.deepEqual([path, await attempt({ cookie })], [path, await attempt({})]);
    }
    await nothingHappened();
  });

  it('a session whose key was revoked changes nothing more, and says so', async () => {
    const { body: key } = await lab.api('POST', '/api/v1/keys', {
      name: 'gone',
      scopes: ['tools:admin', 'tools:call'],
    });
    const context = await lab.browser.newContext();
    const page = await context.newPage();
    const open = (path) => page.goto(`${lab.url}/console${path}`);
    await open('/sign-in');
    await page.getByLabel('API key').fill(key.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await open('/tools/word_count/try');
    const actions = page.getByRole('button', { name: 'More actions' });
    await actions.waitFor();
    assert.equal((await lab.api('DELETE', `/api/v1/keys/${key.id}`)).status, 204);
    await actions.click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    const dialog = page.getByRole('dialog', { name: 'Disable word_count?' });
    await dialog.getByRole('button', { name: 'Disable' }).click();
    const signIn = page.getByRole('dialog', { name: 'Your session has ended' });
    await signIn.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('This session has ended').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await actions.click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    await page.getByRole('dialog', { name: 'This needs a key' }).waitFor();
    assert.equal((await lab.api('GET', '/api/v1/custom-tools/word_count')).body.status, 'active');
    await page.reload();
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    await context.close();
  });
});

describe('a server that asks nobody for a key', () => {
  let lab;
  before(async () => {
    lab = await openLab({ AUTH_MODE: 'off' });
  });
  after(async () => {
    await lab.close();
  });

  it('says so, and lets everybody do everything', async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    await visitor.open('/');
    await page.getByText('Everybody may do everything here').waitFor();
    await page.getByRole('link', { name: 'Tools', exact: true }).click();
    await page.getByRole('link', { name: 'Register a tool' }).click();
    await page.getByLabel('Name', { exact: true }).fill('word_count');
    await page.getByLabel('Command').fill('python3 tool.py');
    await page.getByLabel('Folder').fill(lab.program);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByLabel('text').fill('to be or not to be');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('"words": 6').waitFor();
    await page.getByRole('link', { name: 'Circuit' }).click();
    await page.getByRole('button', { name: 'Hold open' }).click();
    await page.getByLabel('Reason').fill('nobody asks who I am');
    await page.getByRole('dialog').getByRole('button', { name: 'Hold open' }).click();
    await page.getByText('Held by hand').waitFor();
    await visitor.context.close();
  });

  it('nothing went wrong in any page, and none asked anybody else', () => lab.assertQuiet());
});

describe('a server that asks everybody for a key', () => {
  let lab;
  before(async () => {
    lab = await openLab({ ADMIN_API_KEY: 'a-key-of-enough-length' });
    await lab.register('word_count');
  });
  after(async () => {
    await lab.close();
  });

  it('leads through signing in to the screen that was asked for, and shows nothing after signing out', async () => {
    const visitor = await lab.visit({ known: [/401/] });
    const { page } = visitor;
    const path = '/tools/word_count/health?since=7d';
    await visitor.open(path);
    await page.getByLabel('API key').fill(lab.adminKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'word_count' }).waitFor();
    assert.equal(page.url(), `${lab.url}/console${path}`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Toolkeeper' }).waitFor();
    // The sign-in took the place of the screen: Back leads out of the console, and coming again asks for a key.
    await page.goBack();
    assert.equal(await page.getByRole('heading', { name: 'word_count' }).count(), 0);
    await visitor.open(path);
    await page.getByRole('heading', { name: 'Sign in to Toolkeeper' }).waitFor();
    for (const elsewhere of ['//evil.example', 'https://evil.example', '/console/%2F%2Fevil.example']) {
      await visitor.open(`/sign-in?to=${encodeURIComponent(elsewhere)}`);
      await page.getByLabel('API key').fill(lab.adminKey);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Sign out' }).waitFor();
      assert.ok(page.url().startsWith(`${lab.url}/console/`), page.url());
    }
    await visitor.context.close();
  });

  it('nothing else went wrong in any page, and none asked anybody else', () => lab.assertQuiet());
});
