import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openLab, until } from './lab.mjs';

// real: the built server with its own PostgreSQL, tools' processes, Chromium; mock: nothing

/** Answers, or says that its database is away as long as a file lies beside it. */
const orders = `import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    answer = {"result": {"name": "orders", "description": "Reads orders", "version": "1.0.0",
                         "inputSchema": {"type": "object"}, "status": "healthy"}}
    if request["method"] == "execute" and os.path.exists(sys.argv[1]):
        answer = {"error": {"code": -32000, "message": "could not connect to server: Connection refused"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
`;
const minute = 60_000;

for (const history of ['a new server', 'a server with an hour of calls']) {
  describe(`an outage on ${history}`, () => {
    let lab;
    let page;
    let isOver = false;
    let callers;
    const file = (tool) => join(lab.program, `${tool}-is-down`);
    const since = {};

    /** Two calls a second to each tool. */
    async function callOn() {
      while (!isOver) {
        const next = new Promise((resolve) => setTimeout(resolve, 500));
        await Promise.all(['orders', 'stock', 'fine'].map((tool) => lab.call(tool, {})));
        await next;
      }
    }

    before(async () => {
      lab = await openLab();
      writeFileSync(join(lab.program, 'orders.py'), orders);
      for (const name of ['orders', 'stock', 'fine'])
        await lab.register(name, {
          args: ['orders.py', file(name)],
          // The circuit of this one stays closed.
          ...(name === 'orders' && { thresholds: { errorThreshold: 1_000 } }),
        });
      if (history !== 'a new server')
        await lab.record(
          Array.from({ length: 3_600 }, (_, second) => ({
            toolName: ['orders', 'stock', 'fine'][second % 3],
            recordedAt: new Date(Date.now() - second * 1_000),
            executionTimeMs: 3,
          })),
        );
      const visitor = await lab.visit();
      page = visitor.page;
      await lab.signIn(visitor);
      callers = callOn();
      await until(async () => (await report('orders')).now.calls >= 4, 'calls');
      await visitor.open('/');
      await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
    });
    after(async () => {
      isOver = true;
      await callers;
      await lab.close();
    });

    const report = async (tool) => (await lab.api('GET', `/api/v1/tool-health/${tool}`)).body;
    const rows = () => page.locator('article');
    const textOf = async (tool) =>
      (await rows().filter({ hasText: tool }).first().innerText()).replaceAll(/\s+/g, ' ');
    const reads = async (tool, expected, within) => {
      const start = Date.now();
      let text = '';
      for (;;) {
        if ((await rows().filter({ hasText: tool }).count()) > 0) text = await textOf(tool);
        if (expected.test(text)) return Date.now() - start;
        assert(Date.now() - start < within, `after ${within} ms it reads ${JSON.stringify(text)}`);
        await page.waitForTimeout(500);
      }
    };

    it('leads the first screen within 60 s, with the text of its error', async () => {
      writeFileSync(file('orders'), '');
      writeFileSync(file('stock'), '');
      since.orders = Date.now();
      const took = await reads(
        'orders',
        /failing now.*100 % failing since \d\d:\d\d.*Connection refused/,
        minute,
      );
      console.log(`# named after ${took} ms`);
      assert.match(await rows().first().innerText(), /^(orders|stock)/);
      const { now } = await report('orders');
      assert(Math.abs(Date.parse(now.failingSince) - since.orders) < 2_000, now.failingSince);
      assert.match(now.lastError.message, /^could not connect to server: Connection refused\b/);
    });

    it('keeps its error while its circuit is open, whose time counts from the first opening', async () => {
      await reads('stock', /failing now.*circuit open.*Connection refused.*circuit for/, minute);
      const circuit = async () => (await lab.api('GET', '/api/v1/tool-health/stock/circuit')).body;
      const first = (await circuit()).openSince;
      await until(async () => (await circuit()).reason === 'A probe failed', 'a failed probe', 2 * minute);
      assert.equal((await circuit()).openSince, first);
      await reads('stock', /Connection refused.*circuit for/, minute);
      assert.doesNotMatch(await textOf('stock'), /A probe failed/);
    });

    it('says the same on the screens of tools', async () => {
      const other = await page.context().newPage();
      const shows = async (path, expected, part = 'main') => {
        await other.goto(new URL(`/console${path}`, page.url()).href);
        const text = async () => (await other.locator(part).first().innerText()).replaceAll(/\s+/g, ' ');
        await until(async () => expected.test(await text()), `${path}: ${expected}`);
      };
      await shows(
        '/tools',
        /^(orders|stock) .*failing now.* 100 % now.*(orders|stock) .*failing now.* fine /,
        'tbody',
      );
      await shows('/tools/stock/health', /Its calls are refused for .*: could not connect to server/);
      await shows(
        '/tools/stock/health',
        /Why Error could not connect.*First failure.*Last 5 minutes.*Grade of/,
      );
      await shows('/tools/stock/circuit', /Error of the tool could not connect.*First opened .* ago/);
      await other.close();
    });

    it('shows the same figures as the API', async () => {
      let equal = 0;
      for (let look = 0; look < 20; look++) {
        const here = page.url();
        // What the page before has asked for is none of this look's figures.
        await page.goto('about:blank');
        const answer = page
          .waitForResponse(
            (reply) =>
              reply.url().includes('/api/v1/tool-health?') || reply.url().endsWith('/api/v1/tool-health'),
          )
          .then((reply) => reply.json());
        const [, { toolReports }] = await Promise.all([page.goto(here), answer]);
        const { now } = toolReports.find(({ toolName }) => toolName === 'orders');
        const calls = new RegExp(`100 % failing since .* ${now.callsSince} calls`);
        await rows().first().waitFor();
        if (calls.test(await textOf('orders'))) equal++;
      }
      assert.equal(equal, 20);
    });

    it('says within 60 s that it recovers', async () => {
      rmSync(file('orders'));
      rmSync(file('stock'));
      const mended = Date.now();
      const took = await reads(
        'orders',
        /recovering: 0 of \d+ failed since \d\d:\d\d.*last error .* ago: .*Connection refused/,
        minute,
      );
      console.log(`# recovering after ${took} ms`);
      const { status, now } = await report('orders');
      assert.notEqual(status, 'healthy');
      assert(Math.abs(Date.parse(now.recoveringSince) - mended) < minute);
      assert.equal(now.failingSince, null);
    });

    it('says at the next look that it fails again', async () => {
      writeFileSync(file('orders'), '');
      await until(async () => (await report('orders')).now.failingSince !== null, 'a second outage', 10_000);
      const took = await reads('orders', /failing now.* % failing since.*Connection refused/, 20_000);
      console.log(`# named again after ${took} ms`);
    });
  });
}
