import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openLab } from './lab.mjs';

// real: the built server with its own PostgreSQL and the sample catalogue, Chromium; mock: nothing

describe('playbooks', () => {
  let lab;
  before(async () => {
    lab = await openLab();
  });
  after(async () => {
    await lab.close();
  });

  const button = (page, name) => page.getByRole('button', { name, exact: true });
  const latest = async (id, version) =>
    (await lab.api('GET', `/api/v1/playbooks/${id}/versions/${version}`)).body;

  it('one is written for a query that found none; what the server says against it stands at its field', async () => {
    const visitor = await lab.visit({ known: [/400/] });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/playbooks?q=quux+zyzzyva+meltdown&labels=team%3Dquux');
    await page.getByRole('link', { name: 'write one for this query' }).click();
    await page.getByLabel('Id', { exact: true }).fill('quux-cool');
    await page.getByLabel('Name', { exact: true }).fill('Cool the quux');
    await page.getByLabel('Description').fill('The zyzzyva melts down. Cools it.');
    await page.getByLabel('Labels').fill('team: quux, flux\nempty:');
    await page.getByRole('textbox', { name: 'Procedure' }).fill('1. cool\n2. wait');
    await page.reload();
    await button(page, 'Add to signals').click();
    await button(page, 'Save').click();
    await page
      .getByText(/must map at most 32 keys/)
      .first()
      .waitFor();
    await page.getByLabel('Labels').fill('team: quux, flux');
    await button(page, 'Save').click();
    await page.getByRole('heading', { name: 'Shown to an agent: 1' }).waitFor();
    const { labels, signals, content } = await latest('quux-cool', '1.0.0');
    assert.deepEqual(labels, { team: ['quux', 'flux'] });
    assert.deepEqual([signals, content], [['quux zyzzyva meltdown'], '1. cool\n2. wait']);
    await visitor.context.close();
  });

  it('an edit keeps what it does not touch, large numbers included, and its changes can be seen', async () => {
    const content = '{"kind":"P","account":9007199254740991}';
    const playbook = { playbook_id: 'exact', version: '2.0.0-rc1', name: 'Exact', description: 'All of it.' };
    const body = JSON.stringify({ ...playbook, owner: 'team-a', labels: { team: 'a, b' }, content: 0 });
    const stored = await fetch(`${lab.url}/api/v1/playbooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${lab.adminKey}`, 'content-type': 'application/json' },
      body: body.replace('"content":0', `"content":${content}`),
    });
    assert.equal(stored.status, 201);
    const before = await latest('exact', '2.0.0-rc1');
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/playbooks/exact/edit');
    await page.getByLabel('Name', { exact: true }).fill('More exact');
    await button(page, 'Save').click();
    await page.getByRole('heading', { name: 'More exact' }).waitFor();
    const after = await latest('exact', '2.0.0');
    assert.deepEqual(
      [after.name, after.labels, after.owner, after.content],
      ['More exact', before.labels, 'team-a', before.content],
    );
    await page.getByRole('link', { name: 'Versions' }).click();
    await page.getByRole('row', { name: '/name "Exact" "More exact"' }).waitFor();
    await visitor.context.close();
  });

  it('its status is changed with a name and a reason, and search says so', async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/playbooks/cluster-dns-repair');
    const choose = async (name) => {
      await button(page, 'More actions').click();
      await page.getByRole('menuitem', { name }).click();
    };
    await choose('Disable');
    await page.getByLabel('Reason').fill('made it worse');
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('row', { name: /disabled admin made it worse/ }).waitFor();
    await visitor.open('/playbooks?q=NXDOMAIN&by=status');
    await page.getByRole('row', { name: /cluster-dns-repair .* its status/ }).waitFor();
    await page.getByText('Enable its latest version').waitFor();
    await visitor.open('/playbooks/cluster-dns-repair');
    await choose('Enable');
    await page.getByLabel('Reason').fill('it was another one');
    await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click();
    await page.getByRole('row', { name: /active admin it was another one/ }).waitFor();
    await button(page, 'Record an outcome').click();
    await page.getByLabel('It remedied the incident').uncheck();
    await page.getByLabel('Execution').fill('exec-1');
    await button(page, 'Record').click();
    await page.getByText('0 %: 0 of 1 incident; under 10 a rate says little').waitFor();
    await visitor.context.close();
  });

  it('a key that may not write is offered nothing to change', async () => {
    const { body } = await lab.api('POST', '/api/v1/keys', {
      name: 'reader',
      scopes: ['tools:call', 'metrics:read'],
    });
    const visitor = await lab.visit();
    const { page } = visitor;
    await visitor.open('/sign-in');
    await page.getByLabel('API key').fill(body.key);
    await button(page, 'Sign in').click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await visitor.open('/playbooks?q=NXDOMAIN&playbook=cluster-dns-repair');
    await page.getByRole('link', { name: 'Open' }).waitFor();
    assert.equal(await page.getByRole('link', { name: /Edit|Write a playbook/ }).count(), 0);
    await page.getByRole('link', { name: 'Open' }).click();
    await button(page, 'Record an outcome').waitFor();
    assert.equal(await page.getByRole('button', { name: 'More actions' }).count(), 0);
    await visitor.open('/playbooks/new');
    await page.getByText('Your API key lacks the scope playbooks:write').waitFor();
    await visitor.context.close();
  });

  it('the palette finds one by its words, and an agent’s answer to them', async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    await visitor.open('/playbooks?q=pod');
    for (const [typed, place] of [
      ['bad release', '**/console/playbooks/deployment-rollback'],
      ['slow lookups', '**/console/playbooks?q=slow+lookups'],
    ]) {
      await page
        .getByRole('heading', { name: /Playbooks|Procedure/ })
        .first()
        .waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search or run a command' }).fill(typed);
      await page.getByRole('option', { name: /Roll back a bad release|Playbooks for slow/ }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(place);
    }
    await visitor.context.close();
  });

  it('an empty catalogue says what it is for', async () => {
    await lab.withDatabase((db) => db.query('DELETE FROM playbook_catalog'));
    const visitor = await lab.visit();
    await visitor.open('/playbooks');
    await visitor.page.getByRole('link', { name: 'Write the first' }).waitFor();
    await visitor.context.close();
  });

  it('nothing went wrong in any page, and none asked anybody else', () => lab.assertQuiet());
});
