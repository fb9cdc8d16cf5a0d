import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openLab, until } from './lab.mjs';

// real: the built server with its own PostgreSQL, a tool that writes what it should not, Chromium; mock: nothing

const markup = '<img src=x onerror="window.caught=1"><script>window.caught=1</script>';
const rightToLeft = '\u202egnp.exe \u0627\u0644\u0639';

/** Says markup, escapes, right-to-left marks, a line of a megabyte and an object of 100,000 keys wherever it can. */
const program = `import json, sys
bad = ${JSON.stringify(`${markup} ${rightToLeft}`)}
for line in sys.stdin:
    request = json.loads(line)
    result = {"status": "healthy"}
    if request["method"] == "initialize":
        result = {"name": "hostile", "description": bad, "version": "1.0.0", "inputSchema": {
            "type": "object", "title": bad, "properties": {
                "do": {"type": "string", "title": bad, "description": bad},
                bad: {"type": "string", "enum": [bad]}}}}
    elif request["method"] == "execute":
        do = request["params"]["input"].get("do")
        print("\\x1b[31m" + bad + "\\x1b]0;title\\x07", file=sys.stderr, flush=True)
        print("x" * 1000000, file=sys.stderr, flush=True)
        many = {str(i): i for i in range(100000)}
        if do == "fail":
            error = {"code": -32001, "message": bad, "data": many}
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)
            continue
        result = bad + "x" * 1000000 if do == "line" else {"text": bad, bad: bad, "many": many}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
`;

describe('what a tool writes', () => {
  let lab;
  before(async () => {
    lab = await openLab();
    writeFileSync(join(lab.program, 'hostile.py'), program);
    const { status, body } = await lab.register('hostile', {
      args: ['hostile.py'],
      tags: [markup.slice(0, 60)],
      capture: 'all',
    });
    assert.equal(status, 201, JSON.stringify(body));
    for (let index = 0; index < 6; index += 1)
      await lab.call('hostile', { do: 'fail' }, { investigationId: markup });
    await lab.api('POST', '/api/v1/tool-health/hostile/circuit/reset', {
      reason: `${markup} ${rightToLeft}`,
    });
  });
  after(async () => {
    await lab.close();
  });

  it('is text on every screen that shows it, and freezes none', async () => {
    const listed = () => lab.api('GET', '/api/v1/tool-metrics/executions?status=error');
    const { metricId } = await until(async () => (await listed()).body.data[0], 'a failed execution');
    const visitor = await lab.visit({ known: [/404/] });
    const { page } = visitor;
    await page.addInitScript(countPauses);
    await lab.signIn(visitor);
    for (const path of [
      '/',
      '/tools',
      '/tools/hostile/activity',
      '/tools/hostile/health',
      '/tools/hostile/logs',
      '/tools/hostile/settings',
      '/executions',
      `/executions/${metricId}`,
      `/executions?exec=${metricId}`,
      `/executions/${metricId}/replay`,
      '/tools/hostile/circuit',
      '/tools/hostile/revisions?revision=1',
      '/tools/hostile/edit',
      '/events',
      '/investigations',
      `/investigations/${encodeURIComponent(markup)}`,
      `/find?id=${encodeURIComponent(markup)}`,
      `/tools/${encodeURIComponent(markup)}/activity`,
    ]) {
      await visitor.open(path);
      await page.getByText('onerror').or(page.getByText('hostile')).first().waitFor();
      await until(
        async () => (await page.getByRole('status', { name: 'Loading' }).count()) === 0,
        `${path} to load`,
      );
      await isCalm(page, path);
    }
    await visitor.open('/tools/hostile/try');
    for (const [input, answer] of [
      ['all', '"text": "<img'],
      ['line', 'Download all'],
      ['fail', 'tool_error'],
    ]) {
      await page.getByRole('textbox').first().fill(input);
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByText(answer).first().waitFor();
      await isCalm(page, input);
    }
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or run a command' }).fill('hostile');
    await page.getByRole('option').first().waitFor();
    await isCalm(page, 'palette');
    await visitor.context.close();
  });

  it('is text in a playbook as well, also where it is searched and edited', async () => {
    const bad = `${markup} ${rightToLeft}`;
    const long = { ...Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`k${index}`, bad])) };
    for (const [version, content] of [
      ['1.0.0', `${'x'.repeat(300_000)}${bad}`],
      ['1.0.1', long],
    ]) {
      const stored = await lab.api('POST', '/api/v1/playbooks', {
        ...{ playbook_id: 'hostile', version, name: bad, description: bad, owner: bad, content },
        ...{
          labels: { team: [bad, '*'] },
          signals: [bad, bad, '__proto__'],
          aliases: [bad],
          when_to_use: bad,
        },
      });
      assert.equal(stored.status, 201, JSON.stringify(stored.body));
    }
    const visitor = await lab.visit({ known: [/404/] });
    const { page } = visitor;
    await lab.signIn(visitor);
    for (const [path, drawn] of [
      ['/playbooks', 'hostile'],
      [`/playbooks?q=${encodeURIComponent(bad)}&playbook=hostile&was=1,0.5,`, 'Before'],
      [
        `/playbooks?q=x&playbook=${encodeURIComponent(markup)}&labels=${encodeURIComponent(markup)}`,
        'is no label',
      ],
      ['/playbooks/hostile', 'Procedure'],
      ['/playbooks/hostile?v=1.0.0', 'agents never find it'],
      ['/playbooks/hostile/versions', '/content'],
      [`/playbooks/hostile/edit?q=${encodeURIComponent(bad)}`, 'It should be found by'],
    ]) {
      await visitor.open(path);
      await page.getByText(drawn).first().waitFor();
      assert.equal(await page.evaluate(() => window.caught), undefined, path);
      const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
      assert.ok(nodes < 2_500, `${nodes} nodes at ${path}`);
    }
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Before', { exact: true }).waitFor();
    const { body } = await lab.api('GET', '/api/v1/playbooks/hostile/versions/1.0.2');
    assert.deepEqual(
      [body.content, body.signals, body.labels],
      [long, [bad, bad, '__proto__'], { team: [bad, '*'] }],
    );
    await visitor.context.close();
  });

  it('has brought nothing wrong into any page', () => lab.assertQuiet());
});

/** Longer than the slowest screen takes on a busy machine; what draws a hundred thousand nodes takes ten times as long. */
const maxMs = 2_000;

/** Nothing of it ran, the page is small, and it did not stand still. */
async function isCalm(page, where) {
  const found = await page.evaluate(() => ({
    caught: window.caught,
    isTitled: document.title === 'title',
    nodes: document.querySelectorAll('*').length,
    pause: Math.max(0, ...window.pauses),
  }));
  assert.deepEqual([where, found.caught, found.isTitled], [where, undefined, false]);
  assert.ok(found.nodes < 2_000, `${where}: ${found.nodes} nodes`);
  assert.ok(found.pause < maxMs, `${where}: stood still for ${found.pause} ms`);
}

/** Runs in each page before its own scripts. */
function countPauses() {
  window.pauses = [];
  new PerformanceObserver((list) =>
    window.pauses.push(...list.getEntries().map(({ duration }) => duration)),
  ).observe({ type: 'longtask' });
}
