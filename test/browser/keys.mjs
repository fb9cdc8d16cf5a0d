import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openLab, until } from './lab.mjs';

// real: the built server with its own PostgreSQL, tools' processes, an MCP server, Chromium; mock: nothing

describe('keys that may see little', () => {
  let lab;
  /** @returns a visitor whose browser must hear of no refused request */
  const withKey = async (scopes, more = {}) => {
    const { body } = await lab.api('POST', '/api/v1/keys', { name: scopes[0], scopes, ...more });
    const visitor = await lab.visit();
    await lab.signIn(visitor, body.key);
    return visitor;
  };

  before(async () => {
    lab = await openLab();
    await lab.register('word_count', { capture: 'all' });
    const lists = join(lab.program, 'lists.json');
    const late = (description) =>
      writeFileSync(lists, JSON.stringify([{ name: 'late', description, inputSchema: { type: 'object' } }]));
    late('Reads a report.');
    await lab.register('changing', {
      ...{ protocol: 'mcp', command: 'node', args: ['mcp-server.mjs', `--lists=${lists}`] },
      workingDir: join(process.cwd(), 'test/fixtures/tools'),
      sandbox: { allowedPaths: [lab.program] },
    });
    late('Sends a report elsewhere.');
    await lab.call('changing__change', {});
    await lab.call('changing__echo', { text: 'one' });
    for (const text of ['', 'two words', '', 'two words', 'two words', 'two words'])
      await lab.call('word_count', { text }, { investigationId: 'inc-1' });
    const stored = () => lab.api('GET', '/api/v1/tool-metrics/executions?investigationId=inc-1');
    await until(async () => (await stored()).body.data.length === 6, 'the records');
  });
  after(() => lab.close());

  it('lead an auditor to no screen that refuses it, from link to link', async () => {
    const { page, context } = await withKey(['audit:read', 'metrics:read']);
    const seen = new Set();
    const wanted = [`${lab.url}/console/`, `${lab.url}/console/tools/changing__late/health`];
    while (wanted.length > 0) {
      const address = wanted.pop();
      const screen = new URL(address).pathname
        .replace(/\/executions\/[^/]+$/, '/executions/1')
        .replace(/\/tools\/changing__(change|echo)/, '/tools/changing__late');
      if (seen.has(screen)) continue;
      seen.add(screen);
      await page.goto(address);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await until(async () => (await page.getByRole('status', { name: 'Loading' }).count()) === 0, screen);
      const text = await page.getByRole('main').innerText();
      assert.doesNotMatch(text, /may not see this|needs the scope|requires the scope|No such/, screen);
      const links = await page
        .locator('a[href*="/console"]')
        .evaluateAll((all) => all.map(({ href }) => href));
      wanted.push(...links.filter((link) => !link.includes('/console/docs')));
    }
    for (const screen of [
      '/tools/changing__late/health',
      '/tools/changing/tools',
      '/tools/changing/revisions',
      '/tools/word_count/settings',
      '/investigations/inc-1',
      '/executions/1',
      '/settings/audit',
    ])
      assert.ok(seen.has(`/console${screen}`), `${screen} of ${[...seen]}`);
    await page.goto(`${lab.url}/console/tools/changing/tools?tool=late`);
    await page.getByText('Sends a report elsewhere.').first().waitFor();
    assert.equal(await page.getByRole('button', { name: /Approve/ }).count(), 0);
    await context.close();
  });

  it('say why, and which figures are whose', async () => {
    const ofProject = { projects: ['support'] };
    const { page, context, open } = await withKey(['metrics:read', 'tools:call', 'traces:read'], ofProject);
    await open('/settings/about');
    await page.getByText('in a key of all projects').waitFor();
    await open('/experiments/new');
    await page.getByText('Your key lacks the scope experiments:write').waitFor();
    await open('/tools');
    await page.getByRole('row', { name: /word_count (degraded|unhealthy) in all projects/ }).waitFor();
    await open('/tools/word_count/health');
    await page
      .getByRole('heading', { level: 2, name: 'No calls of this project in the last hour' })
      .waitFor();
    await open('/');
    const operator = await lab.visit();
    await lab.signIn(operator);
    const { body } = await lab.api('GET', '/api/v1/tool-metrics/executions?investigationId=inc-1');
    await operator.open(`/executions/${body.data[0].metricId}`);
    await operator.page.getByText('stored until').waitFor();
    await operator.open('/tools');
    await operator.page.getByRole('row', { name: /word_count/ }).waitFor();
    assert.equal(await operator.page.getByText('in all projects').count(), 0);
    const reader = await withKey(['metrics:read']);
    await reader.open(`/executions/${body.data[0].metricId}`);
    await reader.page.getByText('your key may not read input and result (it needs tools:admin)').waitFor();
    for (const each of [context, operator.context, reader.context]) await each.close();
  });

  it('made no request that was refused', () => lab.assertQuiet());
});
