import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { violationsOf } from './axe.mjs';
import { addFilter, byKeys, byMouse, choose } from './hands.mjs';
import { openLab, until } from './lab.mjs';

const { OAuthMcpServer } = await import('../support/oauth-mcp-server.ts');

// real: the built server with its own PostgreSQL, tools' processes, Chromium; mock: nothing

describe('journeys', () => {
  let lab;
  before(async () => {
    lab = await openLab();
    await lab.register('word_count');
  });
  after(async () => {
    await lab.close();
  });

  it('the first snippet of a fresh install is copied by one click, and runs', async () => {
    const visitor = await lab.visit({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/');
    await page.getByRole('button', { name: 'Copy First call' }).click();
    await page.getByText('Copied', { exact: true }).first().waitFor();
    const command = await page.evaluate(() => window.navigator.clipboard.readText());
    const answer = execFileSync('bash', ['-c', command], { encoding: 'utf8' });
    assert.equal(JSON.parse(answer).status, 'success');
    await byMouse.on(page).find('MCP client');
    await page.waitForURL('**/connect');
    await choose(page, 'Tool', 'word_count');
    await page.getByLabel('First call', { exact: true }).getByText('tools/word_count/execute').waitFor();
    assert.deepEqual(await violationsOf(page, 'connect'), []);
    for (const client of ['Cursor', 'VS Code', 'Claude Desktop']) {
      await page.getByRole('button', { name: client, exact: true }).click();
      await page
        .getByLabel(client, { exact: true })
        .getByText(`"args": [ "${process.cwd()}/bin/toolkeeper.mjs", "mcp" ]`)
        .waitFor();
    }
    await visitor.context.close();
  });

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

  for (const hands of [byMouse, byKeys])
    it(`A: a Python file is registered and tried, ${hands.name}`, async () => {
      const name = `count_${hands.name.replaceAll(' ', '_')}`;
      const visitor = await lab.visit();
      const { page } = visitor;
      const { press, write, clicks } = hands.on(page);
      const button = (label) => page.getByRole('button', { name: label, exact: true });
      await lab.signIn(visitor);
      await visitor.open('/tools');
      await press(page.getByRole('link', { name: 'Register a tool' }));
      await write(page.getByLabel('Name', { exact: true }), name);
      await write(page.getByLabel('Command'), 'python3 tool.py');
      await write(page.getByLabel('Folder'), lab.program);
      await press(button('Dry run'));
      await page.getByRole('heading', { name: 'It starts and answers' }).waitFor();
      await write(page.getByLabel('text'), 'to be or not to be');
      await press(button('Run'));
      await page.getByText('"words": 6').waitFor();
      await page.getByRole('tab', { name: 'Logs' }).click();
      await page.getByText('counting', { exact: true }).waitFor();
      await press(button('Save'));
      await page.getByRole('heading', { name }).waitFor();
      assert.ok(clicks() <= 4, `${clicks()} clicks`);
      const { body } = await lab.api('GET', `/api/v1/custom-tools/${name}`);
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
    await page.getByRole('button', { name: 'Hold open' }).click();
    await page.getByLabel('API key').fill('not-the-key');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('This key is not known').waitFor();
    await page.getByLabel('API key').fill(lab.adminKey);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByLabel('Reason').fill('a look at the tool');
    await page.getByRole('dialog').getByRole('button', { name: 'Hold open' }).click();
    await page.getByText('Held by hand').waitFor();
    assert.equal((await lab.call('word_count', { text: 'x' })).body.code, 'circuit_open');
    await page.getByRole('button', { name: 'Close circuit' }).click();
    await page.getByLabel('Reason').fill('looked at');
    await page.getByRole('dialog').getByRole('button', { name: 'Close circuit' }).click();
    await page.getByRole('row', { name: /open closed looked at/ }).waitFor();
    assert.equal((await lab.call('word_count', { text: 'x' })).body.status, 'success');
    await visitor.context.close();
  });

  it('whoever signs out does so in every tab', async () => {
    const visitor = await lab.visit();
    await lab.signIn(visitor);
    const other = await visitor.context.newPage();
    await other.goto(`${lab.url}/console/tools/word_count/circuit`);
    await other.getByRole('button', { name: 'Hold open' }).waitFor();
    await visitor.page.getByRole('button', { name: 'Sign out' }).click();
    for (const page of [other, visitor.page]) await page.getByRole('link', { name: 'Sign in' }).waitFor();
    await other.getByRole('button', { name: 'Hold open' }).click();
    await other.getByRole('dialog', { name: 'This needs a key' }).waitFor();
    await visitor.context.close();
  });

  it('an act after the end of the session asks for a key and is repeated; a failed one says so until it is closed', async () => {
    await lab.register('ended');
    const visitor = await lab.visit({ known: [/40[14]/] });
    const { page } = visitor;
    const endSession = () =>
      page.evaluate(() => window.sessionStorage.setItem('toolkeeper.session', 'of another'));
    const signInAgain = async () => {
      const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
      await dialog.getByLabel('API key').fill(lab.adminKey);
      await dialog.getByRole('button', { name: 'Sign in' }).click();
    };
    const choose = async (name) => {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name }).click();
      await page
        .getByRole('dialog', { name: `${name} ended?` })
        .getByRole('button', { name, exact: true })
        .click();
    };
    const badge = page.locator('main header').getByText('disabled', { exact: true });
    await lab.signIn(visitor);
    await visitor.open('/tools/ended/settings');
    await endSession();
    await choose('Disable');
    await signInAgain();
    await badge.waitFor();
    await visitor.open('/tools/word_count/circuit');
    await page.getByRole('button', { name: 'Hold open' }).click();
    await page.getByLabel('Reason').fill('written before the end');
    await endSession();
    await page.getByRole('dialog').getByRole('button', { name: 'Hold open' }).click();
    await signInAgain();
    await page.getByText('written before the end').first().waitFor();
    await lab.api('POST', '/api/v1/tool-health/word_count/circuit/close', { reason: 'seen' });
    await visitor.open('/tools/ended/settings');
    await badge.waitFor();
    await lab.api('DELETE', '/api/v1/custom-tools/ended');
    await page.clock.install();
    await choose('Enable');
    const failure = page.getByRole('dialog').getByText('no custom tool named "ended"');
    await failure.waitFor();
    await page.clock.fastForward(60_000);
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await failure.waitFor({ state: 'detached' });
    await visitor.context.close();
  });

  for (const hands of [byMouse, byKeys])
    it(`B: a tool fails: why, fix and proof, ${hands.name}`, async () => {
      const name = `flaky_${hands.name.replaceAll(' ', '_')}`;
      await lab.register(name, { capture: 'all' });
      for (let index = 0; index < 5; index += 1) await lab.call(name, { text: '' });
      assert.equal((await lab.call(name, { text: '' })).body.code, 'circuit_open');
      const visitor = await lab.visit();
      const { page } = visitor;
      const { press, write, clicks } = hands.on(page);
      await lab.signIn(visitor);
      const card = page.getByRole('article').filter({ hasText: name });
      await card.getByText('1 refused').waitFor();
      await card.getByText(/100 % failing since \d\d:\d\d · 5 calls/).waitFor();
      const failed = card.getByRole('link', { name: 'tool_crashed', exact: true });
      const list = `/console/executions?tool=${name}&errorType=tool_crashed&since=1h`;
      assert.equal(await failed.getAttribute('href'), list);
      const failures = page.locator('section', {
        has: page.getByRole('heading', { name: 'Newest failures' }),
      });
      await press(failures.getByRole('link', { name }).first());
      await press(page.getByRole('link', { name: 'Replay' }));
      await press(page.getByRole('button', { name: 'Replay', exact: true }));
      await page.getByText('Same status as before: error').waitFor();
      await press(page.getByRole('link', { name: 'Edit the tool' }));
      await write(page.getByLabel('Command'), 'python3 mended.py');
      await press(page.getByRole('button', { name: 'Save revision' }));
      await write(page.getByLabel('Reason'), 'it crashed');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'What revision 2 changed' }).waitFor();
      await press(page.getByRole('button', { name: 'Close circuit' }));
      await write(page.getByLabel('Reason'), 'it was the empty text');
      await press(page.getByRole('dialog').getByRole('button', { name: 'Close circuit' }));
      await page.getByText('Its calls are refused').waitFor({ state: 'detached' });
      assert.ok(clicks() <= 7, `${clicks()} clicks`);
      assert.deepEqual((await lab.call(name, { text: '' })).body.result, { words: 0 });
      await visitor.context.close();
    });

  for (const hands of [byMouse, byKeys])
    it(`C: any id is found, ${hands.name}`, async () => {
      const [investigationId, runId] = [`inc-77 ${hands.name}`, `run-77 ${hands.name}`].map((id) =>
        id.replaceAll(' ', '-'),
      );
      const { body } = await lab.call('word_count', { text: 'x' }, { investigationId, runId });
      const recorded = () => lab.api('GET', `/api/v1/tool-metrics/executions/${body.executionId}`);
      await until(async () => (await recorded()).status === 200, 'the record');
      const visitor = await lab.visit({ known: [/404/] });
      const { page } = visitor;
      await visitor.open('/');
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      for (const [id, place] of [
        [body.executionId, `/console/executions/${body.executionId}?project=default`],
        [investigationId, `/console/investigations/${investigationId}?project=default`],
        [runId, `/console/executions?run=${runId}&project=default`],
      ]) {
        const { find, clicks } = hands.on(page);
        await find(id);
        const { pathname, searchParams } = new URL(place, 'http://any');
        await page.waitForURL(
          (url) =>
            url.pathname === pathname && [...searchParams].every(([k, v]) => url.searchParams.get(k) === v),
        );
        assert.ok(clicks() <= 2, `${clicks()} clicks`);
      }
      const now = Date.now() * 1_000;
      const times = { start_time_us: now - 1_000, finish_time_us: now };
      const span = { trace_id: 'trace-77', span_id: 'span-77', thread_id: 'thread-77', ...times };
      await lab.api('POST', '/api/v1/spans', { ...span, operation_name: 'step' });
      await hands.on(page).find('thread-77');
      await page.getByRole('link', { name: 'The traces of the thread' }).waitFor();
      await visitor.context.close();
    });

  it('the first letters that are typed after Ctrl K are not lost, however late the palette comes', async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    await page.route(/assets\/palette-.*\.js$/, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await route.continue();
    });
    await visitor.open('/tools');
    await page.getByRole('link', { name: 'word_count' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('word_xcount?', { delay: 60 });
    const field = page.getByRole('combobox', { name: 'Search or run a command' });
    await until(async () => (await field.inputValue()) === 'word_xcount?', 'all letters');
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('link', { name: 'word_count' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    assert.equal(await field.count(), 0);
    await visitor.context.close();
  });

  it('an investigation that has spent its budget gets more, and who gave it why is told', async () => {
    const spend = () => lab.call('get_playbooks', { query: 'disk full' }, { investigationId: 'inc/88' });
    await until(async () => (await spend()).body.code === 'investigation_budget_spent', 'the end of it');
    const visitor = await lab.visit({ known: [/404/] });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/investigations?spent=true');
    await page.getByRole('link', { name: 'inc/88' }).click();
    await page.getByRole('row', { name: /get_playbooks 10 10 spent/ }).waitFor();
    await page.getByRole('button', { name: 'Set limits' }).click();
    await page.getByLabel('Calls of get_playbooks').fill('12');
    await page.getByLabel('Reason').fill('it takes longer');
    await page.getByRole('dialog').getByRole('button', { name: 'Set limits' }).click();
    await page.getByRole('row', { name: /get_playbooks 10 12 2 left/ }).waitFor();
    await page.getByRole('row', { name: /admin Raise investigation it takes longer/ }).waitFor();
    assert.equal((await spend()).body.status, 'success');
    await page.getByRole('row', { name: /get_playbooks 11 12 1 left/ }).waitFor();
    await page.getByRole('button', { name: 'Reset budget' }).click();
    await page.getByLabel('Reason').fill('it is over');
    await page.getByRole('dialog').getByRole('button', { name: 'Reset budget' }).click();
    await page.getByText('The whole budget is left').waitFor();
    await visitor.context.close();
  });

  for (const hands of [byMouse, byKeys])
    it(`D: the silent failure of a trace is found and marked, ${hands.name}`, async () => {
      const trace = `silent-${hands.name.replaceAll(' ', '-')}`;
      const { body } = await lab.call('word_count', { text: 'one' }, { runId: trace });
      const start = Date.now() * 1_000 - 5_000_000;
      const times = { start_time_us: start, finish_time_us: start + 1_000_000 };
      const spans = [
        { span_id: 'run', operation_name: trace, attribute: {} },
        {
          ...{ span_id: 'step', parent_span_id: 'run', operation_name: 'tool_call' },
          attribute: {
            ...{ tool_name: 'word_count', output: 'Failed to open /var/log' },
            'toolkeeper.execution_id': body.executionId,
          },
        },
      ];
      await lab.api(
        'POST',
        '/api/v1/spans',
        spans.map((span) => ({ trace_id: trace, run_id: trace, ...times, ...span })),
      );
      const record = `/api/v1/tool-metrics/executions/${body.executionId}`;
      await until(async () => (await lab.api('GET', record)).status === 200, 'the record');
      const visitor = await lab.visit();
      const { page } = visitor;
      const { press, write, clicks } = hands.on(page);
      await lab.signIn(visitor);
      await visitor.open('/traces');
      await press(page.getByRole('link', { name: trace }));
      await page
        .getByRole('treegrid', { name: 'Spans' })
        .getByRole('row', { name: /word_count/ })
        .waitFor();
      await page.keyboard.press('e');
      await page.locator('mark').filter({ hasText: 'Failed to' }).waitFor();
      await press(page.getByRole('button', { name: 'Mark as wrong' }));
      await write(page.getByLabel('Reason'), 'it opened nothing');
      await press(page.getByRole('dialog').getByRole('button', { name: 'Mark', exact: true }));
      await page.getByText('Marked as wrong: it opened nothing').waitFor();
      assert.ok(clicks() <= 3, `${clicks()} clicks`);
      assert.equal((await lab.api('GET', record)).body.semanticFailure, 'it opened nothing');
      await visitor.context.close();
    });

  for (const [hands, id, description, query] of [
    [byMouse, 'stale-peers', 'Peers are stale since their queue restarted.', 'sidecars forget their queue'],
    [
      byKeys,
      'stale-hooks',
      'Hooks are stale since their broker restarted.',
      'endpoints miss what the broker said',
    ],
  ])
    it(`E: a playbook that was not found is found after an edit, ${hands.name}`, async () => {
      const stored = await lab.api('POST', '/api/v1/playbooks', {
        ...{
          playbook_id: id,
          version: '1.0.0',
          name: 'Refresh what is stale',
          description,
          content: 'refresh',
        },
      });
      assert.equal(stored.status, 201);
      const visitor = await lab.visit();
      const { page } = visitor;
      const { press, write, clicks } = hands.on(page);
      await lab.signIn(visitor);
      await visitor.open('/playbooks');
      await write(page.getByLabel('What the incident shows'), query);
      await page.getByRole('row', { name: new RegExp(`${id}.* the threshold`) }).waitFor();
      await press(page.getByRole('link', { name: id }));
      const beside = page.getByRole('region', { name: 'Playbook', exact: true });
      await beside.getByText(/below min_confidence 0.7/).waitFor();
      await press(beside.getByRole('link', { name: 'Edit' }));
      await press(page.getByRole('button', { name: 'Add to also called' }));
      await press(page.getByRole('button', { name: 'Save' }));
      for (const standing of [
        /^Left out by the threshold at rank \d+/,
        /^Shown at rank 1, confidence 0\.[789]/,
      ])
        await beside.getByText(standing).waitFor();
      assert.ok(clicks() <= 4, `${clicks()} clicks`);
      await page.reload();
      await beside.getByText(/^Left out by the threshold at rank/).waitFor();
      const { body } = await lab.api('GET', `/api/v1/playbooks/${id}/versions/1.0.1`);
      assert.deepEqual([body.aliases, body.content], [[query], 'refresh']);
      await visitor.context.close();
    });

  it('the rows of executions are gone through by keys, and each has an address', async () => {
    for (let index = 0; index < 3; index += 1) await lab.call('word_count', { text: `call ${index}` });
    const visitor = await lab.visit();
    const { page } = visitor;
    await visitor.open('/executions?tool=word_count');
    await page.getByRole('table', { name: 'Executions' }).waitFor();
    for (const key of ['j', 'j', 'k']) await page.keyboard.press(key);
    await page.getByRole('region', { name: 'Execution', exact: true }).waitFor();
    const first = new URL(page.url()).searchParams.get('exec');
    await page.keyboard.press('j');
    await until(() => new URL(page.url()).searchParams.get('exec') !== first, 'the next row');
    const focused = () => page.evaluate(() => document.activeElement?.closest('tr')?.dataset.row);
    const isFocused = async () => (await focused()) === new URL(page.url()).searchParams.get('exec');
    await until(isFocused, 'the focus on the row');
    await page.keyboard.press('Tab');
    assert.ok(await isFocused(), 'Tab leads on from the row');
    const address = page.url();
    const elsewhere = await lab.visit();
    await elsewhere.page.goto(address);
    await elsewhere.page
      .getByRole('region', { name: 'Execution', exact: true })
      .getByText('word_count')
      .waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Execution of word_count' }).waitFor();
    await page.goBack();
    await page.keyboard.press('Escape');
    await until(() => !page.url().includes('exec='), 'the closed peek');
    for (const { context } of [visitor, elsewhere]) await context.close();
  });

  it('tables fit their place; on a phone a tool is a card of two lines', async () => {
    const long = 'a_name_that_is_longer_than_its_column_has_room_for_by_far';
    await lab.register(long);
    await lab.call('word_count', { text: 'x' });
    const visitor = await lab.visit({ viewport: { width: 1440, height: 900 } });
    const { page } = visitor;
    const heightOf = async (row) => (await row.boundingBox()).height;
    for (const [path, name] of [
      ['/tools', 'Tools'],
      ['/executions', 'Executions'],
      ['/tools/word_count/activity', 'Newest executions'],
    ]) {
      await visitor.open(path);
      const table = page.getByRole('table', { name });
      await table.waitFor();
      const isWide = (element) => element.parentElement.scrollWidth > element.parentElement.clientWidth;
      assert.equal(await table.evaluate(isWide), false, name);
      assert.equal(await heightOf(table.getByRole('row').nth(2)), 32, name);
    }
    await page.setViewportSize({ width: 390, height: 800 });
    await visitor.open('/tools');
    const card = page.getByRole('row').filter({ has: page.getByTitle(long) });
    await card.getByText('not graded').first().waitFor();
    assert.ok((await heightOf(card)) < 70);
    const main = await page.locator('main').evaluate((element) => element.scrollWidth);
    assert.ok(main <= 390, `${main} px`);
    await lab.api('DELETE', `/api/v1/custom-tools/${long}`);
    await visitor.context.close();
  });

  it('a tool is disabled, enabled and removed from a menu, by keyboard alone', async () => {
    const name = 'short_lived';
    await lab.register(name, { description: 'It counts words. '.repeat(40) });
    const visitor = await lab.visit({ known: [/404/] });
    const { page } = visitor;
    const { press } = byKeys.on(page);
    await lab.signIn(visitor);
    await visitor.open(`/tools/${name}/settings`);
    const description = page.locator('main header').getByText('It counts words.');
    const heightOf = async () => (await description.boundingBox()).height;
    await page.getByRole('button', { name: 'more', exact: true }).waitFor();
    assert.equal(await heightOf(), 40);
    await press(page.getByRole('button', { name: 'more', exact: true }));
    await page.getByRole('button', { name: 'less' }).waitFor();
    assert.ok((await heightOf()) > 40);
    const choose = async (item, keys) => {
      await press(page.getByRole('button', { name: 'More actions' }));
      const first = page.getByRole('menuitem').first();
      await until(() => first.evaluate((element) => element === document.activeElement), 'the focus');
      for (const key of keys) await page.keyboard.press(key);
      const dialog = page.getByRole('dialog', { name: `${item} ${name}?` });
      await press(dialog.getByRole('button', { name: item, exact: true }));
      await dialog.waitFor({ state: 'detached' });
    };
    const status = async () => (await lab.api('GET', `/api/v1/custom-tools/${name}`)).body.status;
    await choose('Disable', ['Enter']);
    assert.equal(await status(), 'inactive');
    const badge = page.locator('main header').getByText('disabled', { exact: true });
    await badge.waitFor();
    await choose('Enable', ['Enter']);
    assert.equal(await status(), 'active');
    await badge.waitFor({ state: 'detached' });
    await choose('Remove', ['End', 'Enter']);
    await page.getByRole('heading', { name: 'Tools' }).waitFor();
    assert.equal((await lab.api('GET', `/api/v1/custom-tools/${name}`)).status, 404);
    await visitor.context.close();
  });

  it('Back closes a peek and takes a filter away, in one step however much was typed or looked at', async () => {
    for (let index = 0; index < 2; index += 1) await lab.call('word_count', { text: '' });
    const visitor = await lab.visit();
    const { page } = visitor;
    const at = (query) => until(() => new URL(page.url()).search === query, `the address ${query}`);
    await visitor.open('/tools');
    await page.getByRole('link', { name: 'Executions' }).click();
    await page.getByRole('heading', { name: 'Executions' }).waitFor();
    const errors = await addFilter(page, 'Error');
    for (const text of ['tool', 'tool_crashed']) {
      await errors.fill(text);
      await at(`?errorType=${text}`);
    }
    await page
      .getByRole('row', { name: /word_count/ })
      .first()
      .waitFor();
    await errors.blur();
    for (const key of ['j', 'j']) await page.keyboard.press(key);
    await page.getByRole('region', { name: 'Execution', exact: true }).waitFor();
    await page.goBack();
    await at('?errorType=tool_crashed');
    await page.goBack();
    await at('');
    assert.equal(await errors.inputValue(), '');
    await page.goBack();
    await page.waitForURL('**/console/tools');
    await visitor.context.close();
  });

  it('executions that end while the list is read are counted, and shown when that is asked for', async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    const rows = page.getByRole('table', { name: 'Executions' }).getByRole('row');
    await lab.register('watched');
    await lab.call('watched', { text: '' });
    await visitor.open('/executions?tool=watched&status=error&since=1h');
    await rows.nth(1).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    const before = await rows.count();
    for (const text of ['', 'two words']) await lab.call('watched', { text });
    const offer = page.getByRole('button', { name: '1 new' });
    await offer.waitFor();
    assert.equal(await rows.count(), before);
    await offer.click();
    await until(async () => (await rows.count()) === before + 1, 'the new row');
    await offer.waitFor({ state: 'detached' });
    await visitor.context.close();
  });

  it('an account at an MCP server is begun, seen, and ended', async () => {
    const upstream = await OAuthMcpServer.start();
    const settings = { name: 'tickets', protocol: 'mcp', url: upstream.url, credentials: 'user' };
    await lab.api('POST', '/api/v1/custom-tools', settings);
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/settings/accounts');
    const row = page.getByRole('row', { name: /tickets/ });
    await row.getByText('no account').waitFor();
    const [signIn] = await Promise.all([
      visitor.context.waitForEvent('page'),
      row.getByRole('link', { name: 'Sign in' }).click(),
    ]);
    assert.deepEqual(await violationsOf(signIn), []);
    await signIn.getByRole('link', { name: 'Sign in' }).click();
    await signIn.getByRole('heading', { name: 'Signed in' }).waitFor();
    await signIn.close();
    await row.getByText('active').waitFor();
    assert.deepEqual(await violationsOf(page), []);
    await row.getByRole('button', { name: 'End' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('are refused until you sign in again').waitFor();
    await dialog.getByRole('button', { name: 'End account' }).click();
    await row.getByText('no account').waitFor();
    const { body } = await lab.api('POST', '/api/v1/tools/tickets__whoami/execute', { input: {} });
    assert.equal(body.code, 'authorization_required');
    await lab.api('DELETE', '/api/v1/custom-tools/tickets');
    await visitor.context.close();
    await upstream.stop();
  });

  it('a key is made, shown once, used, limited and revoked with a reason', async () => {
    const visitor = await lab.visit({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/settings/keys');
    await page.getByRole('button', { name: 'Make a key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('triage');
    await dialog.getByLabel('Tools', { exact: true }).fill('word_count');
    await dialog.getByRole('button', { name: 'Make key' }).click();
    await dialog.getByText('It is shown only once').waitFor();
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Copy key' }).click();
    const secret = await page.evaluate(() => window.navigator.clipboard.readText());
    assert.equal(await dialog.getByLabel('Key', { exact: true }).inputValue(), secret);
    await dialog.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByRole('row', { name: /triage active tools:call 1 tool/ }).waitFor();
    assert.equal((await page.content()).includes(secret), false);
    const inputs = { word_count: { text: 'x' }, get_playbooks: { query: 'x' } };
    const use = async (tool) => {
      const reply = await fetch(`${lab.url}/api/v1/tools/${tool}/execute`, {
        ...{ method: 'POST', body: JSON.stringify({ input: inputs[tool] }) },
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      });
      return reply.status;
    };
    assert.deepEqual([await use('word_count'), await use('get_playbooks')], [200, 403]);
    // The server cuts the stream of a key that is revoked.
    const holder = await lab.visit({ known: [/40[13]|ERR_INCOMPLETE_CHUNKED_ENCODING/] });
    await holder.open('/sign-in?to=/console/settings/keys');
    await holder.page.getByLabel('API key').fill(secret);
    await holder.page.getByRole('button', { name: 'Sign in' }).click();
    await holder.page.waitForURL('**/settings/keys');
    await holder.open('/');
    await holder.page.waitForURL('**/console/tools');
    await holder.page.getByRole('link', { name: 'Playbooks' }).waitFor();
    assert.equal(await holder.page.getByRole('link', { name: 'Executions' }).count(), 0);
    await holder.page.getByRole('link', { name: 'Settings' }).click();
    await holder.page.getByText('as triage').waitFor();
    assert.equal(await holder.page.getByRole('link', { name: 'API keys' }).count(), 0);
    await holder.open('/settings/keys');
    await holder.page.getByText('with an API key that lacks this scope').waitFor();
    await page.getByRole('link', { name: 'triage' }).click();
    await page.getByRole('button', { name: 'Change limits' }).click();
    await dialog.getByLabel('Tools', { exact: true }).fill('get_*');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /Update key/ }).waitFor();
    assert.deepEqual([await use('word_count'), await use('get_playbooks')], [403, 200]);
    await page.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByLabel('Reason').fill('it stood in a log');
    await dialog.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByRole('row', { name: /admin Revoke key it stood in a log/ }).waitFor();
    assert.equal(await use('get_playbooks'), 401);
    for (const { context } of [visitor, holder]) await context.close();
  });

  it('who did what to a tool is found from the tool, and by who, what and when', async () => {
    await lab.register('audited');
    await lab.api('PATCH', '/api/v1/custom-tools/audited', { timeoutMs: 5_000 });
    await lab.api('POST', '/api/v1/custom-tools/audited/disable');
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/audited/settings');
    await page.getByRole('link', { name: 'Audit', exact: true }).click();
    const table = page.getByRole('table', { name: 'Audit' });
    const rows = () => table.getByRole('row').allInnerTexts();
    await table.getByRole('row', { name: /admin Disable custom tool custom-tools\/audited/ }).waitFor();
    assert.equal((await rows()).length, 4);
    await table.getByRole('row', { name: /Update custom tool/ }).click();
    const entry = page.getByRole('region', { name: 'Entry' });
    await entry.getByText('custom-tools/audited').waitFor();
    await entry.getByRole('row', { name: '/timeoutMs 30000 5000' }).waitFor();
    await entry.getByRole('button', { name: 'Close' }).click();
    await entry.waitFor({ state: 'detached' });
    await (await addFilter(page, 'Action')).click();
    await page.getByRole('option', { name: 'Disable custom tool' }).click();
    await until(async () => (await rows()).length === 2, 'the one entry');
    await page.getByRole('button', { name: 'Period: Any time' }).click();
    await page.getByLabel('Until').fill('2020-01-01T00:00:00');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('No entries match these filters').waitFor();
    const address = new URL(page.url()).searchParams;
    assert.deepEqual([address.get('target'), address.get('what')], ['audited', 'disableCustomTool']);
    await visitor.open('/settings/audit?who=nobody');
    await page.getByText('No entries match these filters').waitFor();
    await page.getByRole('button', { name: 'Remove the filter Who' }).click();
    await table.waitFor();
    await visitor.context.close();
  });

  it('an auditor is not led to what its key may not see', async () => {
    const { body } = await lab.api('POST', '/api/v1/keys', {
      ...{ name: 'auditor', scopes: ['audit:read', 'metrics:read'] },
    });
    // The page of a tool asks for its input schema, too, which needs tools:call.
    const visitor = await lab.visit({ known: [/403/] });
    const { page } = visitor;
    await lab.signIn(visitor, body.key);
    await page.getByText('Needs attention').waitFor();
    assert.equal(await page.getByRole('link', { name: 'All tools' }).count(), 0);
    await visitor.open('/tools/word_count/health');
    await page.getByRole('heading', { name: 'Error patterns' }).waitFor();
    const crumbs = page.getByRole('navigation', { name: 'Breadcrumb' });
    assert.match(await crumbs.innerText(), /Tools/);
    assert.equal(await crumbs.getByRole('link', { name: 'Tools' }).count(), 0);
    await visitor.open('/settings/audit');
    await page.getByRole('table', { name: 'Audit' }).waitFor();
    const tabs = page.getByRole('navigation', { name: 'Settings' }).getByRole('link');
    assert.deepEqual(await tabs.allInnerTexts(), ['Audit', 'About']);
    await visitor.context.close();
  });

  it('events come as they happen, stand still while they are read, and have an address', async () => {
    const circuit = (act, reason) =>
      lab.api('POST', `/api/v1/tool-health/get_playbooks/circuit/${act}`, { reason });
    const visitor = await lab.visit();
    const { page } = visitor;
    await visitor.open('/events?tool=playbooks');
    await page.getByText('following').waitFor();
    await circuit('open', 'before the pause');
    const row = (reason) => page.getByRole('row', { name: new RegExp(`get_playbooks ${reason}`) });
    await row('before the pause').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('paused', { exact: true }).waitFor();
    await circuit('reset', 'during the pause');
    await page.getByRole('button', { name: 'Follow (1 newer)' }).waitFor();
    assert.equal(await row('during the pause').count(), 0);
    const other = await lab.visit();
    await other.page.goto(page.url());
    await other.page.getByRole('button', { name: 'Follow (1 newer)' }).click();
    await other.page.getByRole('row', { name: /during the pause admin/ }).waitFor();
    for (const { context } of [visitor, other]) await context.close();
  });

  it('a log is followed as it is written, and a server that dies and comes back is said and mended', async () => {
    const visitor = await lab.visit({ known: [/ERR_|Failed to load resource|EventSource/] });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/word_count/logs');
    await page.getByText('following').waitFor();
    await lab.call('word_count', { text: 'seen-in-the-log' });
    await page.getByText('seen-in-the-log').waitFor();
    const events = await lab.visit({ known: [/ERR_|Failed to load resource/] });
    await events.open('/events');
    await events.page.getByText('following').waitFor();
    await lab.restart(() => page.getByText('The connection to the server is lost').waitFor());
    await page.getByText('The connection to the server is lost').waitFor({ state: 'detached' });
    await page.getByText('Live', { exact: true }).waitFor();
    await lab.api('POST', '/api/v1/tool-health/word_count/circuit/open', {
      reason: 'seen after the restart',
    });
    await events.page
      .getByRole('row', { name: /circuit opened word_count seen after the restart/ })
      .waitFor();
    // Events survive the restart: nothing can be missing.
    assert.equal(await events.page.getByText('The server restarted').count(), 0);
    for (const { context } of [visitor, events]) await context.close();
  });

  it('a link that is pasted into an open console signs in, too', async () => {
    const [, path] = /(\/console\/#once=[\w-]+)/.exec(lab.log);
    const visitor = await lab.visit();
    await visitor.open('/');
    await visitor.page.getByRole('link', { name: 'Sign in' }).waitFor();
    // The page that registers itself meanwhile would be another caller's by then.
    await visitor.page.waitForFunction(() => window.sessionStorage.getItem('toolkeeper.ui') !== null);
    await visitor.page.goto(lab.url + path);
    await visitor.page.getByRole('button', { name: 'Sign out' }).waitFor();
    assert.equal(new URL(visitor.page.url()).hash, '');
    await visitor.context.close();
  });

  it('nothing went wrong in any page, and none asked anybody else', () => lab.assertQuiet());
});
