import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openLab } from './lab.mjs';

// real: the built server with its own PostgreSQL, a tool's process, Chromium; mock: nothing

/** Answers "success" with the error of its backend. */
const silent = `import json, sys
for line in sys.stdin:
    request = json.loads(line)
    result = {"name": "tickets", "description": "Finds tickets", "version": "1.0.0",
              "inputSchema": {"type": "object"}, "status": "healthy"}
    if request["method"] == "execute":
        result = {"message": "Error: 401 unauthorized"} if request["params"]["input"].get("fail") else {"rows": []}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
`;

describe('results that report an error under status success', () => {
  let lab;
  let page;
  let open;
  const ids = [];
  const pictures = process.env.PICTURES;
  const picture = async (name) =>
    pictures && (await page.screenshot({ path: join(pictures, `${name}.png`) }));

  before(async () => {
    lab = await openLab();
    writeFileSync(join(lab.program, 'silent.py'), silent);
    await lab.register('tickets', { args: ['silent.py'] });
    for (const [fail, userId] of [
      [true, 'alice'],
      [true, 'bob'],
      [false, 'bob'],
      [true, 'bob'],
      [false, 'carol'],
    ])
      ids.push((await lab.call('tickets', { fail }, { userId })).body.executionId);
    const visitor = await lab.visit();
    ({ page, open } = visitor);
    await lab.signIn(visitor);
  });
  after(() => lab.close());

  it('stand on Overview, which leads to them', async () => {
    await open('/');
    const row = page.locator('article', { hasText: 'tickets' });
    await row.getByText('findings', { exact: true }).waitFor();
    await picture('overview');
    await row.getByRole('link', { name: '3 findings' }).click();
    await page.getByText('3 in all').waitFor();
    assert.match(page.url(), /tool=tickets/);
    assert.match(page.url(), /finding=true/);
    await picture('executions');
  });

  it('stand on Tools, and with their callers on the tool', async () => {
    await open('/tools');
    await page.getByRole('link', { name: '3 findings' }).waitFor();
    await picture('tools');
    await open('/tools/tickets/activity');
    // In the head, and among the figures of the period.
    for (const place of ['h1', 'dl'])
      await page.locator(place).getByRole('link', { name: '3 findings' }).waitFor();
    const callers = page.getByRole('table', { name: 'Affected callers' });
    await callers.getByRole('row', { name: /bob 3 0 0/ }).waitFor();
    await page.getByRole('button', { name: 'Investigations' }).click();
    await callers.getByRole('row', { name: /none \(default\) 5 0 –/ }).waitFor();
    await picture('tool');
  });

  it('stand on the execution, as does a mark with who made it', async () => {
    await open(`/executions/${ids[0]}`);
    await page.getByText(/Finding in the result: error: in .*401 unauthorized/).waitFor();
    const [, , fine] = ids;
    const path = `/api/v1/tool-metrics/executions/${fine}/semantic-failure`;
    assert.equal((await lab.api('POST', path, { reason: 'no rows' })).status, 204);
    await open(`/executions/${fine}`);
    await page.getByText(/Marked as wrong by admin, .*: no rows/).waitFor();
    await picture('execution');
    await open('/tools');
    await page.getByRole('link', { name: '4 findings' }).waitFor();
    lab.assertQuiet();
  });
});
