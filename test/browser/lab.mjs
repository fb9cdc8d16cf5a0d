import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { chromium } from 'playwright-core';
import { chromiumPath, launchArguments } from './chromium.mjs';

const { startServer } = await import('../support/server-process.ts');
const { ClusterFiles } = await import('../../src/base/database/embedded/cluster-files.ts');
const { insertBatch, newToolMetric } = await import('../../src/records/executions/execution-record.ts');

/** A tool in Python that counts words, crashes on a text without any, and writes to stderr as programs do. */
const wordCount = `import json, sys
for line in sys.stdin:
    request = json.loads(line)
    result = {"status": "healthy"}
    if request["method"] == "initialize":
        result = {"name": "word_count", "description": "Counts words", "version": "1.0.0", "inputSchema": {
            "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}
    elif request["method"] == "execute":
        text = request["params"]["input"]["text"]
        print("\\x1b[32mcounting\\x1b[0m " + text, file=sys.stderr, flush=True)
        result = {"words": len(text.split())}
        if result["words"] == 0: sys.exit("no words at all")
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
`;

/** A sign-in ends the page's session of the caller before: a stream that is opened at that moment finds it gone. */
const endedPage = /status of 404 .*\/console\/stream\?topics=ui%3A[\w-]+$/;

/**
 * A server with its own database and the tools that ship, a browser, and a folder with a tool that is not registered yet:
 * `tool.py`, and `mended.py`, which does not crash.
 * @param more environment variables of the server
 */
export async function openLab(more = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-browser-'));
  // Under root tools are users of their own.
  chmodSync(folder, 0o755);
  const program = join(folder, 'word_count');
  mkdirSync(program);
  writeFileSync(join(program, 'tool.py'), wordCount);
  writeFileSync(join(program, 'mended.py'), wordCount.replace(/^.*no words at all.*\n/m, ''));
  const variables = {
    TOOLKEEPER_DATA_DIR: join(folder, 'data'),
    PLAYBOOKS_DIR: 'playbooks',
    SANDBOX_GRANTABLE_PATHS: program,
    LOG_LEVEL: 'info',
    ...more,
  };
  let server = await startServer(variables);
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: launchArguments });
  const watched = [];

  const api = async (method, path, body) => {
    const reply = await fetch(server.url + path, {
      method,
      headers: { ...server.key, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    return { status: reply.status, body: text === '' ? undefined : JSON.parse(text) };
  };

  return {
    program,
    api,
    browser,
    get url() {
      return server.url;
    },
    get adminKey() {
      return server.key.authorization.replace('Bearer ', '');
    },
    get log() {
      return server.log();
    },
    register: (name, changes = {}) =>
      api('POST', '/api/v1/custom-tools', {
        ...{ name, command: 'python3', args: ['tool.py'], workingDir: program, keepAlive: true },
        ...changes,
      }),
    call: (tool, input, context = {}) => api('POST', `/api/v1/tools/${tool}/execute`, { input, context }),
    /** A client of the server's own database. */
    async withDatabase(use) {
      const cluster = new ClusterFiles(join(folder, 'data', 'postgres'));
      const { port } = cluster.postmaster();
      const login = `toolkeeper:${cluster.password()}`;
      const db = new pg.Client(`postgres://${login}@127.0.0.1:${port}/postgres`);
      await db.connect();
      return use(db).finally(() => db.end());
    },
    /** Records of executions as if they had run: many of them, or of long ago. */
    record(metrics) {
      return this.withDatabase((db) => insertBatch(db, metrics.map(newToolMetric), 0));
    },
    /** A page of its own browser profile. Whatever goes wrong in it is in `problems`. */
    async visit(options = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      const page = await context.newPage();
      const problems = [];
      const known = options.known ?? [];
      page.on('pageerror', (error) => problems.push(`uncaught: ${error.message}`));
      page.on('console', (message) => {
        const text = `${message.text()} ${message.location().url}`;
        if (message.type() === 'error' && ![...known, endedPage].some((each) => each.test(text)))
          problems.push(`console: ${text}`);
      });
      page.on('request', (request) => {
        const { protocol, origin } = new URL(request.url());
        if (protocol.startsWith('http') && origin !== server.url) problems.push(`foreign: ${request.url()}`);
      });
      await page.addInitScript(() => {
        document.addEventListener('securitypolicyviolation', (event) =>
          console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
        );
      });
      watched.push(problems);
      return { context, page, problems, open: (path) => page.goto(`${server.url}/console${path}`) };
    },
    /** @param key the operator's, unless another is given */
    async signIn({ page, open }, key = server.key.authorization.replace('Bearer ', '')) {
      await open('/sign-in');
      await page.getByLabel('API key').fill(key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    },
    /** Ends the server as a crash does, and starts it anew at the same address. */
    async restart(meanwhile) {
      const { port } = new URL(server.url);
      await server.end('SIGKILL');
      await meanwhile();
      server = await startServer({ ...variables, PORT: port });
    },
    assertQuiet: () => assert.deepEqual(watched.flat(), []),
    async close() {
      await browser.close();
      await server.end('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A condition that comes true in a moment. */
export async function until(isTrue, what, withinMs = 20_000) {
  const end = Date.now() + withinMs;
  for (;;) {
    const value = await isTrue();
    if (value) return value;
    if (Date.now() > end) throw new Error(`${what} did not happen in time`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
