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
            "type": "object", "title": bad, "properties": {"do": {"type": "string", "title": bad, "description": bad}}}}
    elif request["method"] == "execute":
        do = request["params"]["input"].get("do")
        print("\\x1b[31m" + bad + "\\x1b]0;title\\x07", file=sys.stderr, flush=True)
        print("x" * 1000000, file=sys.stderr, flush=True)
        if do == "fail":
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32001, "message": bad}}), flush=True)
            continue
        result = {"text": bad, "many": {str(i): i for i in range(100000)}}
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
    });
    assert.equal(status, 201, JSON.stringify(body));
    for (let index = 0; index < 6; index += 1)
      await lab.call('hostile', { do: 'fail' }, { investigationId: markup });
  });
  after(async () => {
    await lab.close();
  });

  it('is text on every screen that shows it, and freezes none', async () => {
    const listed = () => lab.api('GET', '/api/v1/tool-metrics/executions?status=error');
    const { metricId } = await until(async () => (await listed()).body.data[0], 'a failed execution');
    const visitor = await lab.visit({ known: [/404/] });
    const { page } = visitor;
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
      '/investigations',
      `/investigations/${encodeURIComponent(markup)}`,
    ]) {
      await visitor.open(path);
      await page.getByText('onerror').or(page.getByText('hostile')).first().waitFor();
      await until(
        async () => (await page.getByRole('status', { name: 'Loading' }).count()) === 0,
        `${path} to load`,
      );
      assert.equal(await page.evaluate(() => window.caught ?? document.title.includes('title')), false);
    }
    await visitor.open('/tools/hostile/try');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('"text": "<img').first().waitFor();
    assert.equal(await page.evaluate(() => window.caught), undefined);
    const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
    assert.ok(nodes < 2_000, `${nodes} nodes`);
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
