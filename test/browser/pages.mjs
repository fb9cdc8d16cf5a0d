import { AxeBuilder } from '@axe-core/playwright';
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openLab, until } from './lab.mjs';

// real: the built server with its own PostgreSQL, tools' processes, Chromium, axe; mock: nothing

const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const themes = ['light', 'dark'];

/** Each screen with what says that it is drawn. */
const screens = (execution) => [
  ['/', 'Newest executions'],
  ['/tools', 'word_count'],
  ['/tools?q=nothing-fits', 'No tool fits these filters'],
  ['/tools/new', 'Nothing was tried yet'],
  ['/tools/new?from=json', 'Nothing was tried yet'],
  ['/tools/word_count/activity', 'Newest executions'],
  ['/tools/word_count/try', 'Copy as'],
  ['/tools/word_count/health', 'How it fails'],
  ['/tools/word_count/circuit', 'What happened'],
  ['/tools/word_count/logs', 'following'],
  ['/tools/word_count/revisions?revision=1', 'What revision 1 changed'],
  ['/tools/word_count/settings', 'It is held by'],
  ['/tools/word_count/edit', 'Save revision'],
  ['/tools/absent/activity', 'No such tool'],
  ['/executions', 'in all'],
  ['/executions?tool=absent', 'No execution fits'],
  [`/executions?exec=${execution}`, 'Open'],
  [`/executions/${execution}`, 'As the API has it'],
  [`/executions/${execution}/replay`, 'was not captured'],
  ['/executions/absent', 'Try again'],
  ['/investigations', 'Least is left of'],
  ['/investigations?q=nothing-fits', 'fits these filters'],
  ['/investigations/inc-0', '9 left'],
  ['/investigations/never-seen', 'The whole budget is there'],
  ['/playbooks', 'Repair name resolution inside the cluster'],
  ['/playbooks?q=pod+OOMKilled+exit+code+137&playbook=memory-leak-contain', 'What to change.'],
  ['/playbooks?q=qqq+zzz', 'An agent is shown nothing'],
  ['/playbooks?q=pod&labels=environment', 'is no label'],
  ['/playbooks/cluster-dns-repair', 'Procedure'],
  ['/playbooks/cluster-dns-repair/versions', 'there is nothing to compare'],
  ['/playbooks/cluster-dns-repair/edit?q=names+vanish', 'It should be found by'],
  ['/playbooks/new', 'This version'],
  ['/playbooks/absent', 'There is no playbook absent'],
  ['/playbooks/absent/edit', 'There is no playbook absent'],
  ['/find?id=nothing-has-it', 'Nothing has this id'],
  ['/nowhere', 'There is no such page'],
];

describe('pages', () => {
  let lab;
  let execution;
  before(async () => {
    lab = await openLab();
    await lab.register('word_count');
    for (let index = 0; index < 12; index += 1)
      await lab.call(
        'word_count',
        { text: index % 3 === 0 ? '' : 'two words' },
        { investigationId: `inc-${index}` },
      );
    const listed = () => lab.api('GET', '/api/v1/tool-metrics/executions?status=error');
    execution = (await until(async () => (await listed()).body.data[0], 'a failed execution')).metricId;
  });
  after(async () => {
    await lab.close();
  });

  const violationsOf = async (page, where) => {
    const { violations } = await new AxeBuilder({ page }).withTags(rules).analyze();
    return violations.map(
      ({ id, nodes }) => `${where}: ${id} at ${nodes.map(({ target }) => target).join(', ')}`,
    );
  };
  const check = async (page, where) => assert.deepEqual(await violationsOf(page, where), []);
  const drawn = (page, text) => page.getByText(text).first().waitFor();
  const isTooWide = (page) => page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);

  for (const colorScheme of themes) {
    it(`are accessible in the ${colorScheme} theme, empty, full and failed`, async () => {
      const visitor = await lab.visit({ colorScheme, known: [/40[04]/] });
      await lab.signIn(visitor);
      const found = [];
      for (const [path, text] of screens(execution)) {
        await visitor.open(path);
        await drawn(visitor.page, text);
        found.push(...(await violationsOf(visitor.page, path)));
      }
      assert.deepEqual(found, []);
      await visitor.context.close();
    });

    it(`have dialogs that are, in the ${colorScheme} theme`, async () => {
      const visitor = await lab.visit({ colorScheme });
      const { page } = visitor;
      await visitor.open('/tools/word_count/circuit');
      await page.getByRole('button', { name: 'Open circuit' }).click();
      await page.getByRole('dialog').waitFor();
      await check(page, 'asking for the key');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill('word');
      await page.getByRole('option').first().waitFor();
      await check(page, 'palette');
      await page.keyboard.press('Escape');
      await page.getByRole('combobox').waitFor({ state: 'detached' });
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys' }).waitFor();
      await check(page, 'keys');
      await visitor.open('/sign-in');
      await drawn(page, 'Sign in to Toolkeeper');
      await check(page, 'signing in');
      await visitor.context.close();
    });
  }

  it('fit a window of 320 pixels, and one at 200 %', async () => {
    for (const options of [
      { viewport: { width: 320, height: 640 } },
      { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 },
    ]) {
      const visitor = await lab.visit({ ...options, known: [/40[04]/] });
      await lab.signIn(visitor);
      const wide = [];
      for (const [path, text] of screens(execution)) {
        await visitor.open(path);
        await drawn(visitor.page, text);
        if (await isTooWide(visitor.page)) wide.push(path);
      }
      assert.deepEqual(wide, []);
      await visitor.context.close();
    }
  });

  it('show the same at the same address, also after a reload', async () => {
    const visitor = await lab.visit();
    const other = await lab.visit();
    const paths = ['/tools?kind=custom&q=word', `/executions?status=error&tool=word_count&exec=${execution}`];
    for (const path of paths) {
      await visitor.open(path);
      await drawn(visitor.page, 'word_count');
      const address = visitor.page.url();
      assert.equal(address, `${lab.url}/console${path}`);
      await visitor.page.reload();
      await other.page.goto(address);
      for (const { page } of [visitor, other]) {
        await drawn(page, 'word_count');
        assert.equal(page.url(), address);
      }
    }
    for (const { context } of [visitor, other]) await context.close();
  });

  it('said nothing wrong, and asked nobody else', () => lab.assertQuiet());
});
