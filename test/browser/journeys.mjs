import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openLab, until } from './lab.mjs';

// real: the built server with its own PostgreSQL, tools' processes, Chromium; mock: nothing

describe('journeys', () => {
  let lab;
  before(async () => {
    lab = await openLab();
  });
  after(async () => {
    await lab.close();
  });

  /** The clicks that a person makes after signing in. */
  const counting = (page) => {
    let clicks = 0;
    const click = async (locator) => {
      clicks += 1;
      await locator.click();
    };
    return { click, clicks: () => clicks, button: (name) => page.getByRole('button', { name, exact: true }) };
  };

  it('a link signs in once, and leaves the address bar at once', async () => {
    const [, path] = /(\/console\/#once=[\w-]+)/.exec(lab.log);
    const visitor = await lab.visit();
    await visitor.page.goto(lab.url + path);
    await visitor.page.getByRole('button', { name: 'Sign out' }).waitFor();
    assert.equal(new URL(visitor.page.url()).hash, '');
    const late = await lab.visit({ known: [/401/] });
    await late.page.goto(lab.url + path);
    await late.page.getByRole('link', { name: 'Sign in' }).waitFor();
    for (const { context } of [visitor, late]) await context.close();
  });

  it('A: a Python file is registered and tried, in four clicks', async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools');
    const { click, clicks, button } = counting(page);
    await click(page.getByRole('link', { name: 'Register a tool' }));
    await page.getByLabel('Name', { exact: true }).fill('word_count');
    await page.getByLabel('Command').fill('python3 tool.py');
    await page.getByLabel('Folder').fill(lab.program);
    await click(button('Try'));
    await page.getByRole('heading', { name: 'It starts and answers' }).waitFor();
    await page.getByLabel('text').fill('to be or not to be');
    await click(button('Run'));
    await page.getByText('"words": 6').waitFor();
    await page.getByText('counting', { exact: true }).waitFor();
    await click(button('Save'));
    await page.getByRole('heading', { name: 'word_count' }).waitFor();
    assert.equal(clicks(), 4);
    const { body } = await lab.api('GET', '/api/v1/custom-tools/word_count');
    assert.deepEqual([body.status, body.args, body.workingDir], ['active', ['tool.py'], lab.program]);
    await visitor.context.close();
  });

  it('whoever has no key reads and calls, and is asked for one by the first act that changes something', async () => {
    const visitor = await lab.visit({ known: [/401/] });
    const { page } = visitor;
    await visitor.open('/tools/word_count/try');
    await page.getByLabel('text').fill('one two');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('"words": 2').waitFor();
    await visitor.open('/tools/word_count/circuit');
    await page.getByRole('button', { name: 'Open circuit' }).click();
    await page.getByLabel('API key').fill('not-the-key');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('This key is not known').waitFor();
    await page.getByLabel('API key').fill(lab.adminKey);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByLabel('Reason').fill('a look at the tool');
    await page.getByRole('dialog').getByRole('button', { name: 'Open circuit' }).click();
    await page.getByText('Held by hand').waitFor();
    assert.equal((await lab.call('word_count', { text: 'x' })).body.code, 'circuit_open');
    await page.getByRole('button', { name: 'Close circuit' }).click();
    await page.getByLabel('Reason').fill('looked at');
    await page.getByRole('dialog').getByRole('button', { name: 'Close circuit' }).click();
    await page.getByRole('row', { name: /open closed looked at/ }).waitFor();
    assert.equal((await lab.call('word_count', { text: 'x' })).body.status, 'success');
    await visitor.context.close();
  });

  it('B: a tool fails: why, fix and proof, in seven clicks', async () => {
    await lab.register('flaky', { capture: 'all' });
    for (let index = 0; index < 5; index += 1) await lab.call('flaky', { text: '' });
    const visitor = await lab.visit({ known: [/404/] });
    const { page } = visitor;
    await lab.signIn(visitor);
    const { click, clicks, button } = counting(page);
    const card = page.getByRole('article').filter({ hasText: 'flaky' }).first();
    await click(
      card
        .getByRole('link', { name: 'Failed calls' })
        .or(card.getByRole('link', { name: 'Circuit' }))
        .first(),
    );
    await visitor.open('/executions?tool=flaky&status=error');
    await click(page.getByRole('row', { name: /flaky/ }).first().getByRole('link'));
    await click(page.getByRole('link', { name: 'Replay' }));
    await page.getByLabel('text').fill('a text with words');
    await click(button('Replay'));
    await page.getByText('It ends in success now').waitFor();
    await page.getByRole('row', { name: /Before error/ }).waitFor();
    await visitor.open('/tools/flaky/circuit');
    await click(button('Close circuit'));
    await page.getByLabel('Reason').fill('it was the empty text');
    await click(page.getByRole('dialog').getByRole('button', { name: 'Close circuit' }));
    await page.getByRole('row', { name: /open closed it was the empty text/ }).waitFor();
    assert.ok(clicks() <= 7, `${clicks()} clicks`);
    assert.equal((await lab.call('flaky', { text: 'well again' })).body.status, 'success');
    await visitor.context.close();
  });

  it('C: any id is found with two keys', async () => {
    const { body } = await lab.call(
      'word_count',
      { text: 'x' },
      { investigationId: 'inc-77', runId: 'run-77' },
    );
    const recorded = () => lab.api('GET', `/api/v1/tool-metrics/executions/${body.executionId}`);
    await until(async () => (await recorded()).status === 200, 'the record');
    const visitor = await lab.visit({ known: [/404/] });
    const { page } = visitor;
    await visitor.open('/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    for (const [id, place] of [
      [body.executionId, `/console/executions/${body.executionId}`],
      ['inc-77', '/console/executions?investigation=inc-77'],
      ['run-77', '/console/executions?run=run-77'],
    ]) {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Find or do' }).fill(id);
      await page.getByRole('option', { name: id }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(`**${place}`);
    }
    await visitor.context.close();
  });

  it('the rows of executions are gone through by keys, and each has an address', async () => {
    for (let index = 0; index < 3; index += 1) await lab.call('word_count', { text: `call ${index}` });
    const visitor = await lab.visit();
    const { page } = visitor;
    await visitor.open('/executions?tool=word_count');
    await page.getByRole('table', { name: 'Executions' }).waitFor();
    for (const key of ['j', 'j', 'k']) await page.keyboard.press(key);
    await page.getByRole('complementary', { name: 'Execution' }).waitFor();
    const first = new URL(page.url()).searchParams.get('exec');
    await page.keyboard.press('j');
    await until(() => new URL(page.url()).searchParams.get('exec') !== first, 'the next row');
    const address = page.url();
    const elsewhere = await lab.visit();
    await elsewhere.page.goto(address);
    await elsewhere.page.getByRole('complementary', { name: 'Execution' }).getByText('word_count').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Execution of word_count' }).waitFor();
    await page.goBack();
    await page.keyboard.press('Escape');
    await until(() => !page.url().includes('exec='), 'the closed peek');
    for (const { context } of [visitor, elsewhere]) await context.close();
  });

  it('a log is followed as it is written, and a server that dies and comes back is said and mended', async () => {
    const visitor = await lab.visit({ known: [/ERR_|Failed to load resource|EventSource/] });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/word_count/logs');
    await page.getByText('following').waitFor();
    await lab.call('word_count', { text: 'seen-in-the-log' });
    await page.getByText('seen-in-the-log').waitFor();
    await lab.restart(() => page.getByText('The connection to the server is lost').waitFor());
    await page.getByText('The connection to the server is lost').waitFor({ state: 'detached' });
    await page.getByText('Live', { exact: true }).waitFor();
    await visitor.context.close();
  });

  it('nothing went wrong in any page, and none asked anybody else', () => lab.assertQuiet());
});
