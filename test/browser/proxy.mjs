import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { chromium } from 'playwright-core';
import { Agent, fetch } from 'undici';
import { chromiumPath, launchArguments } from './chromium.mjs';
import { until } from './lab.mjs';

const { startServer } = await import('../support/server-process.ts');

// real: the built server, nginx and haproxy with the configuration of docs/operate/behind-a-proxy.md, TLS, Chromium, MCP's SDK; mock: nothing

const root = new URL('../..', import.meta.url).pathname;
const page = readFileSync(join(root, 'docs/operate/behind-a-proxy.md'), 'utf8');
const documented = (language) => new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(page)[1];
const openapi = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'));
const run = promisify(execFile);

/** Routes that need no key anywhere. */
const open = ['GET /livez', 'GET /readyz', 'GET /startupz', 'POST /api/v1/session', 'DELETE /api/v1/session'];
const fixture = join(root, 'test/fixtures/tools/fixture-tool.mjs');

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** The documented configuration with the test's addresses in place of its own. */
function placed(text, { port, upstream, folder }) {
  return text
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace('bind :443', `bind 127.0.0.1:${port}`)
    .replaceAll('/etc/ssl', folder)
    .replaceAll('127.0.0.1:3000', upstream);
}

const proxies = {
  nginx: {
    start({ folder, plain, ...places }) {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const lines = [
        ...(process.getuid() === 0 ? ['user root;'] : []),
        'daemon off;',
        `pid ${folder}/nginx.pid;`,
        'events {}',
        'http {',
        'access_log off;',
        ...temporary.map((kind) => `${kind}_temp_path ${folder}/${kind};`),
        placed(documented('nginx'), { folder, ...places }),
        // The least that forwards.
        `server { listen 127.0.0.1:${plain}; location / { proxy_pass http://${places.upstream}; } }`,
        '}',
      ];
      writeFileSync(join(folder, 'nginx.conf'), lines.join('\n'));
      return spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')], {
        stdio: 'inherit',
      });
    },
  },
  haproxy: {
    start({ folder, plain, ...places }) {
      const least = `listen least\n  bind 127.0.0.1:${plain}\n  option forwardfor\n  server s ${places.upstream}\n`;
      const text = `${placed(documented('haproxy'), { folder, ...places })}\n${least}`;
      writeFileSync(join(folder, 'haproxy.cfg'), text);
      return spawn('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'inherit' });
    },
  },
};

function makeCertificate(folder) {
  const name = join(folder, 'tools.example.com');
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject, ...files],
    {
      stdio: 'ignore',
    },
  );
  const certificate = readFileSync(`${name}.pem`, 'utf8');
  writeFileSync(`${name}.both.pem`, certificate + readFileSync(`${name}.key`, 'utf8'));
  return certificate;
}

/** A server and a proxy in front of it, which shows it at `url`, and at `plain` as little configured as it gets. */
async function openFront(start) {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-proxy-'));
  const certificate = makeCertificate(folder);
  const [port, plain] = [await freePort(), await freePort()];
  const url = `https://127.0.0.1:${port}/tk`;
  mkdirSync(join(folder, 'data'));
  const server = await startServer({
    TOOLKEEPER_DATA_DIR: join(folder, 'data'),
    CUSTOM_TOOLS_DIR: join(folder, 'tools'),
    SANDBOX_GRANTABLE_PATHS: join(root, 'test/fixtures/tools'),
    PUBLIC_URL: url,
    TRUST_PROXY: 'true',
    TOOL_INPUT_MAX_BYTES: '4194304',
  });
  const child = start({ folder, port, plain, upstream: new URL(server.url).host });
  const dispatcher = new Agent({ connect: { ca: certificate } });
  const ask = (path, { headers, ...options } = {}) =>
    fetch(url + path, { dispatcher, redirect: 'manual', headers: { ...server.key, ...headers }, ...options });
  await until(
    () =>
      ask('/readyz').then(
        ({ ok }) => ok,
        () => false,
      ),
    'the proxy',
  );
  const send = (method, path, body, headers) =>
    ask(path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  return {
    url,
    origin: new URL(url).origin,
    plain: `http://127.0.0.1:${plain}`,
    server,
    certificate: join(folder, 'tools.example.com.pem'),
    dispatcher,
    ask,
    send,
    keyless: (address, method, path) => fetch(address + path, { dispatcher, method, redirect: 'manual' }),
    async close() {
      child.kill('SIGTERM');
      await once(child, 'exit');
      await dispatcher.destroy();
      await server.end('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A page of its own browser profile; requests outside of the path, and errors, are in `problems`. */
async function visit(browser, { origin, url }, known = []) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const tab = await context.newPage();
  const problems = [];
  tab.on('pageerror', (error) => problems.push(`uncaught: ${error.message}`));
  tab.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && !known.some((each) => each.test(text))) problems.push(text);
  });
  tab.on('request', (request) => {
    const address = request.url();
    if (address.startsWith('http') && !address.startsWith(`${url}/`) && address !== `${origin}/favicon.ico`)
      problems.push(`outside: ${address}`);
  });
  return { context, tab, problems };
}

for (const [name, { start }] of Object.entries(proxies))
  describe(`behind ${name}, with TLS and a path`, () => {
    let front;
    let browser;
    before(async () => {
      front = await openFront(start);
      browser = await chromium.launch({ executablePath: chromiumPath(), args: launchArguments });
      const made = await front.send('POST', '/api/v1/custom-tools', {
        ...{ name: 'worker', command: 'node', args: [fixture], description: 'works', keepAlive: true },
      });
      assert.equal(made.status, 201, await made.text());
    });
    after(async () => {
      await browser?.close();
      await front?.close();
    });

    it('asks a visitor without a key for one on every route, also where it is configured least', async () => {
      let asked = 0;
      for (const [path, methods] of Object.entries(openapi.paths))
        for (const method of Object.keys(methods).map((each) => each.toUpperCase())) {
          if (open.includes(`${method} ${path}`)) continue;
          const actual = path.replaceAll(/\{\w+\}/g, '1');
          for (const address of [front.url, front.plain]) {
            const { status } = await front.keyless(address, method, actual);
            assert.deepEqual([address, method, actual, status], [address, method, actual, 401]);
          }
          asked += 1;
        }
      assert.ok(asked > 100, `${asked} routes`);
      for (const path of ['/openapi.json', '/docs', '/mcp', '/nothing'])
        assert.equal((await front.keyless(front.url, 'GET', path)).status, 401, path);
      assert.equal((await front.keyless(front.url, 'GET', '/livez')).status, 200);
    });

    it('a browser signs in by the link, works live, and stays below the path', async () => {
      const [link] = /https:\/\/\S+#once=[\w-]+/.exec(front.server.log());
      const { context, tab, problems } = await visit(browser, front);
      await tab.goto(link);
      await tab.getByRole('button', { name: 'Sign out' }).waitFor();
      assert.equal(tab.url(), `${front.url}/console/`);
      await tab.goto(`${front.url}/console/tools/worker/try`);
      await tab.getByRole('button', { name: 'Run', exact: true }).click();
      await tab.getByText('success').first().waitFor();
      await tab.getByRole('link', { name: 'Executions', exact: true }).click();
      await tab
        .getByRole('row', { name: /worker/ })
        .first()
        .waitFor();
      assert.equal(tab.url(), `${front.url}/console/executions`);
      await front.send('POST', '/api/v1/tools/worker/execute', { input: {} });
      await tab.getByRole('button', { name: /\d new/ }).waitFor();
      await tab.keyboard.press('Control+k');
      await tab.getByRole('combobox', { name: 'Search or run a command' }).fill('Connect');
      await tab.getByRole('option', { name: 'Connect' }).first().click();
      await tab.waitForURL(`${front.url}/console/connect`);
      await tab.getByText(`${front.url}/api/v1/tools/`).first().waitFor();
      await tab.reload();
      await tab.getByText(`${front.url}/api/v1/tools/`).first().waitFor();
      assert.deepEqual(problems, []);
      await context.close();
    });

    it('a browser signs in by a key, changes something, and signs out', async () => {
      const { context, tab, problems } = await visit(browser, front, [/401/]);
      await tab.goto(`${front.url}/`);
      await tab.waitForURL(/\/tk\/console\/sign-in/);
      await tab.goto(`${front.url}/console/tools/worker/circuit`);
      await tab.getByLabel('API key').fill(front.server.key.authorization.replace('Bearer ', ''));
      await tab.getByRole('button', { name: 'Sign in' }).click();
      await tab.waitForURL(`${front.url}/console/tools/worker/circuit`);
      await tab.getByRole('button', { name: 'Reset circuit' }).click();
      await tab.getByLabel('Reason').fill('looked at');
      await tab.getByRole('dialog').getByRole('button', { name: 'Reset circuit' }).click();
      await tab.getByRole('dialog').waitFor({ state: 'hidden' });
      const [cookie] = await context.cookies();
      assert.deepEqual([cookie.name, cookie.secure, cookie.path], ['__Host-toolkeeper_session', true, '/']);
      await tab.getByRole('button', { name: 'Sign out' }).click();
      await tab.getByLabel('API key').waitFor();
      assert.match(tab.url(), /\/tk\/console\/sign-in/);
      assert.deepEqual(problems, []);
      await context.close();
    });

    it('Swagger UI calls the API below the path', async () => {
      const { context, tab, problems } = await visit(browser, front, [/401/]);
      await tab.goto(`${front.url}/console/sign-in`);
      await tab.getByLabel('API key').fill(front.server.key.authorization.replace('Bearer ', ''));
      await tab.getByRole('button', { name: 'Sign in' }).click();
      await tab.getByRole('link', { name: 'API docs' }).click();
      await tab.waitForURL(`${front.url}/docs`);
      assert.equal(await tab.locator('.servers select').inputValue(), '/tk');
      await tab.locator('#operations-session-getSession').getByRole('button').first().click();
      await tab.getByRole('button', { name: 'Try it out' }).click();
      const [answered] = await Promise.all([
        tab.waitForResponse(`${front.url}/api/v1/session`),
        tab.getByRole('button', { name: 'Execute', exact: true }).click(),
      ]);
      assert.equal(answered.status(), 200);
      assert.deepEqual(problems, []);
      await context.close();
    });

    it('an asynchronous call is followed at its Location, as it happens', async () => {
      const submitted = await front.send(
        ...['POST', '/api/v1/tools/worker/execute', { input: { action: 'hang' } }],
        { prefer: 'respond-async' },
      );
      assert.equal(submitted.status, 202);
      const place = new URL(submitted.headers.get('location'), front.url);
      assert.ok(place.href.startsWith(`${front.url}/api/v1/executions/`), place.href);
      const path = place.href.slice(front.url.length);
      const { body } = await front.ask(path, { headers: { accept: 'text/event-stream' } });
      let text = '';
      let isCancelled = false;
      for await (const chunk of body) {
        text += Buffer.from(chunk).toString();
        // The call hangs, so what was read came before its end.
        if (!isCancelled && text.includes('"running"')) {
          isCancelled = true;
          assert.equal((await front.ask(path, { method: 'DELETE' })).status, 200);
        }
      }
      assert.ok(isCancelled && text.includes('"cancelled"'), text);
    });

    it('MCP lists and calls tools, by its SDK and by the command line', async () => {
      const client = new Client({ name: 'test', version: '1' });
      const { dispatcher, server, url } = front;
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
          requestInit: { headers: server.key },
          fetch: (address, init) => fetch(address, { ...init, dispatcher }),
        }),
      );
      const { tools } = await client.listTools();
      assert.ok(tools.some((tool) => tool.name === 'worker'));
      const { isError } = await client.callTool({ name: 'worker', arguments: {} });
      assert.ok(!isError);
      await client.close();
      const env = {
        ...process.env,
        ...{ TOOLKEEPER_URL: url, NODE_EXTRA_CA_CERTS: front.certificate },
        TOOLKEEPER_KEY: server.key.authorization.replace('Bearer ', ''),
      };
      const { stdout } = await run(process.execPath, ['bin/toolkeeper.mjs', 'tool', 'list'], {
        env,
        cwd: root,
      });
      assert.match(stdout, /worker/);
    });

    it('takes long bodies, and ids with a slash', async () => {
      const called = await front.send('POST', '/api/v1/tools/worker/execute', {
        input: { text: 'x'.repeat(2_000_000) },
      });
      assert.equal(called.status, 200, await called.text());
      const raised = await front.send('PATCH', '/api/v1/investigations/a%2Fb', { callsPerTool: 5 });
      assert.equal((await raised.json()).investigationId, 'a/b');
      const read = await front.ask('/api/v1/investigations/a%2Fb');
      assert.equal((await read.json()).investigationId, 'a/b');
    });
  });
