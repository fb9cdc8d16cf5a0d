import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { violationsOf } from './axe.mjs';
import { saveRevision } from './hands.mjs';
import { openLab, until } from './lab.mjs';

/** Where the MCP server is that tests register. */
const servers = join(process.cwd(), 'test/fixtures/tools');

// real: the built server with its own PostgreSQL, tools' processes, Chromium; mock: nothing

/** Says which number it was given, digit by digit. */
const digits = `import json, sys
def branch(kind, of): return {"title": "By " + kind, "properties": {"kind": {"const": kind}, kind: {"type": of}},
    "required": ["kind", kind]}
schema = {"type": "object", "required": ["code", "number"], "properties": {
    "code": {"type": "string", "pattern": "^[a-z]+$"}, "number": {"type": "integer"},
    "by": {"title": "By", "type": "object", "oneOf": [branch("id", "integer"), branch("query", "string")]}}}
for line in sys.stdin:
    request = json.loads(line)
    result = {"name": "digits", "description": "Says a number", "version": "1.0.0", "inputSchema": schema,
        "status": "healthy"}
    if request["method"] == "execute": result = {"digits": " ".join(str(request["params"]["input"].get("number")))}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
`;

const fields = digits.replace(
  /schema = [^]*?\nfor/,
  `schema = {"type": "object", "properties": {
    "fixed": {"const": "v1"}, "file": {"type": "string", "contentEncoding": "base64"},
    "kinds": {"type": "array", "uniqueItems": True, "items": {"enum": ["red", "green", "blue"]}},
    "zone": {"enum": ["zone-%d" % i for i in range(500)]}}}
for`,
);

/** The page as one that is looked at (`visible`), or as one behind others (`hidden`). */
const look = (page, state) =>
  page.evaluate((value) => {
    Object.defineProperty(document, 'visibilityState', { value, configurable: true });
    document.dispatchEvent(new window.Event('visibilitychange'));
  }, state);

describe('tools', () => {
  let lab;
  before(async () => {
    lab = await openLab();
    await lab.register('word_count');
  });
  after(async () => {
    await lab.close();
  });

  it('one stream serves a tab, goes on where it was, and is given back while nobody looks', async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    const open = new Set();
    const asked = [];
    page.on('request', (request) => {
      if (request.headers().accept !== 'text/event-stream') return;
      open.add(request);
      asked.push(request);
    });
    for (const event of ['requestfinished', 'requestfailed'])
      page.on(event, (request) => open.delete(request));
    await lab.signIn(visitor);
    await page.clock.install({ time: new Date() });
    await page.getByRole('link', { name: 'Tools', exact: true }).click();
    await page.getByRole('link', { name: 'word_count' }).click();
    await page.getByRole('link', { name: 'Logs' }).click();
    await page.getByText('following').waitFor();
    // The page's own topic comes once the server knows the page.
    const topics = () => new URL(asked.at(-1).url()).searchParams.get('topics').replace(/ui:[\w-]+/, 'ui');
    await until(() => topics().split(',').sort().join() === 'events,logs:word_count,ui', 'all topics in one');
    await until(() => open.size === 1, 'one stream');
    await lab.call('word_count', { text: 'before-the-pause' });
    await page.clock.runFor(200);
    await page.getByText('before-the-pause').waitFor();

    await look(page, 'hidden');
    await page.clock.fastForward(4 * 60_000);
    assert.equal(open.size, 1);
    await page.clock.fastForward(61_000);
    await until(() => open.size === 0, 'the end of the stream');
    await page.getByText('Paused', { exact: true }).waitFor();
    await lab.call('word_count', { text: 'during-the-pause' });
    await look(page, 'visible');
    await until(() => open.size === 1, 'the stream again');
    const { 'last-event-id': place } = await asked.at(-1).allHeaders();
    assert.match(place, /events=[^,]+,(ui:[^,]+,)?logs:word_count=/);
    await page.clock.runFor(200);
    await page.getByText('during-the-pause').waitFor();
    assert.equal(await page.getByText('before-the-pause').count(), 1);
    await visitor.context.close();
  });

  it('a tab that looked away for long says how many events it has not seen', async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    // A first stream, without the page's own topic, ends as soon as the server knows the page.
    const isWhole = (request) => /\/console\/stream\?.*ui%3A/.test(request.url());
    const begun = page.waitForRequest(isWhole);
    await visitor.open('/events');
    await begun;
    await page.getByText('following').waitFor();
    await page.clock.install({ time: new Date() });
    const ended = page.waitForEvent('requestfailed', isWhole);
    await look(page, 'hidden');
    await page.clock.fastForward(5 * 60_000);
    await ended;
    const act = (name) =>
      lab.api('POST', `/api/v1/tool-health/get_playbooks/circuit/${name}`, { reason: 'to make room' });
    // More than the 1,000 that are kept, and than those of the last moment, which are not stored yet.
    for (let index = 0; index < 550; index += 1) for (const name of ['open', 'reset']) await act(name);
    await look(page, 'visible');
    await page.getByText(/\d events were dropped before this page received them/).waitFor();
    await visitor.context.close();
  });

  it('charts show how many executions there were and how long they took, point by point, with gaps', async () => {
    const at = (minutesAgo) => new Date(Date.now() - minutesAgo * 60_000);
    const failed = { status: 'error', errorType: 'tool_error', errorMessage: 'on purpose' };
    await lab.record([
      ...[50, 49, 48].map((ago) => ({ toolName: 'charted', recordedAt: at(ago), executionTimeMs: 40 })),
      { toolName: 'charted', recordedAt: at(20), executionTimeMs: 900, ...failed },
    ]);
    await lab.register('charted');
    const visitor = await lab.visit();
    const { page } = visitor;
    await visitor.open('/tools/charted/activity');
    const rates = page.getByRole('slider', { name: 'Requests / min' });
    await rates.focus();
    const texts = [];
    // The chart begins with the first execution.
    for (let left = Number(await rates.getAttribute('max')); left >= 0; left -= 1) {
      texts.push(await rates.getAttribute('aria-valuetext'));
      await page.keyboard.press('ArrowLeft');
    }
    assert.equal(texts.filter((text) => text.includes('1 execution (1 / min)')).length, 3);
    assert.equal(texts.filter((text) => text.includes('1 execution, 1 failed')).length, 1);
    assert.ok(texts.some((text) => text.includes('0 executions')));
    const times = page.getByRole('slider', { name: 'p95 duration' });
    await times.hover();
    await page.locator('figure').getByText('no executions').first().waitFor();
    assert.equal(await page.locator('figure path').count(), 4);
    await rates.focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/executions\?tool=charted&since=[^&]+&until=/);
    await visitor.open('/?since=7d');
    await page.getByRole('slider', { name: 'Requests / min' }).waitFor();
    await page.getByRole('button', { name: 'Period: Last 7 days' }).waitFor();
    await visitor.context.close();
  });

  it('a tool has the same grade, counts and times on every screen, while calls run', async () => {
    const at = (minutesAgo) => new Date(Date.now() - minutesAgo * 60_000);
    const failed = { status: 'error', errorType: 'tool_error', errorMessage: 'on purpose', toolFault: true };
    const past = Array.from({ length: 40 }, (_, n) => ({
      recordedAt: at(n + 5),
      ...(n % 2 === 0 && failed),
    }));
    await lab.record(past.map((each) => ({ ...each, toolName: 'agreeing', executionTimeMs: 40 })));
    await lab.register('agreeing');
    const call = () => lab.call('agreeing', { text: 'one two' });
    const tenCalls = async () => {
      for (let n = 0; n < 10; n += 1) await call();
    };
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/');
    let answers = 0;
    page.on('response', (response) => {
      if (new URL(response.url()).pathname === '/api/v1/tool-health') answers += 1;
    });
    const course = (text) => /recovering: [\d,]+ of [\d,]+ failed since [\d:]+/.exec(text)?.[0];
    const figure = (text, name) =>
      Number(new RegExp(`^${name}\\s+([\\d,]+)`, 'm').exec(text)[1].replaceAll(',', ''));
    const go = (link) => page.getByRole('link', { name: link, exact: true }).first().click();
    /** The texts of all screens that show one answer; undefined if another one came meanwhile. */
    const texts = async () => {
      await go('Overview');
      const before = answers;
      const overview = await page.getByRole('article', { name: 'agreeing' }).innerText();
      await go('Tools');
      const row = await page.getByRole('row', { name: /^agreeing/ }).innerText();
      await page.getByRole('link', { name: 'agreeing' }).click();
      const header = page.locator('main header');
      await header
        .getByText(/failing|recovering/)
        .first()
        .waitFor();
      const head = await header.innerText();
      await go('Health');
      const tab = await page.getByText('Last 5 minutes', { exact: true }).locator('..').innerText();
      const rules = await page.getByRole('table', { name: 'Rules of the grade' }).innerText();
      return answers === before && { overview, row, head, tab, rules };
    };
    const totals = [];
    for (let pass = 0; pass < 2; pass += 1) {
      // One call of two failed: five successes in a row show that it has recovered.
      await tenCalls();
      await page.reload();
      const [{ overview, row, head, tab, rules }] = await Promise.all([
        until(texts, 'a pass with one answer'),
        tenCalls(),
      ]);
      assert.match(course(overview), /^recovering: 0 of /);
      assert.equal(course(head), course(overview));
      assert.match(tab, /\b0 of [\d,]+ calls failed/);
      const [calls, failed] = [figure(rules, 'Calls'), figure(rules, 'Failed calls')];
      assert.match(row.replaceAll(/\s+/g, ' '), new RegExp(`^agreeing recovering ${calls} `));
      assert.ok(row.includes(`\t${Number(((100 * failed) / calls).toFixed(1))} %`), row);
      totals.push(calls);
    }
    assert.ok(totals[1] > totals[0], `calls ran: ${totals}`);
    await visitor.context.close();
  });

  it('the grades of a period stand in a strip with their reasons, and so do the states of a circuit', async () => {
    const changes = [
      ['unknown', 'healthy', 'Enough calls', 3_000],
      ['healthy', 'degraded', 'Success rate is 85.0%', 120],
      ['degraded', 'healthy', 'All is well', 30],
    ];
    await lab.withDatabase(async (db) => {
      for (const [from, to, why, minutes] of changes)
        await db.query(
          `INSERT INTO grade_changes (tool, from_status, to_status, why, at)
           VALUES ('word_count', $1, $2, $3, now() - make_interval(mins => $4))`,
          [from, to, why, minutes],
        );
    });
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/word_count/health?period=24');
    const grades = page.getByRole('slider', { name: 'Grades' });
    await grades.focus();
    const said = () => grades.getAttribute('aria-valuetext');
    assert.match(await said(), /Now healthy, since .*All is well/);
    await page.keyboard.press('ArrowLeft');
    assert.match(await said(), /degraded: Success rate is 85.0%/);
    await page.keyboard.press('Home');
    assert.match(await said(), /healthy: Enough calls/);
    await page.getByRole('table', { name: 'Changes of the grade' }).getByText('All is well').waitFor();
    await visitor.open('/tools/word_count/health?since=1h');
    await until(async () => (await grades.getAttribute('max')) === '1', 'the hour');

    const reason = { reason: 'to be seen in the strip' };
    await lab.api('POST', '/api/v1/tool-health/word_count/circuit/open', reason);
    await lab.api('POST', '/api/v1/tool-health/word_count/circuit/close', reason);
    await visitor.open('/tools/word_count/circuit');
    const states = page.getByRole('slider', { name: 'States of the circuit' });
    await states.focus();
    await page.keyboard.press('ArrowLeft');
    assert.match(await states.getAttribute('aria-valuetext'), /open: to be seen in the strip/);
    await visitor.context.close();
  });

  it('a template is changed, tried and saved with its files, at an address of its own', async () => {
    const visitor = await lab.visit({ known: [/400/] });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/new');
    await page.getByRole('button', { name: 'Template', exact: true }).click();
    await page.getByRole('button', { name: 'python', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('from_template');
    const program = page.getByRole('textbox', { name: 'tool.py' });
    const definition = readFileSync('tools/templates/python/tool.py', 'utf8');
    await program.fill(definition.replace('Say in one or two sentences what', 'Finds what'));
    await page.getByRole('button', { name: 'Dry run', exact: true }).click();
    await page.getByRole('heading', { name: 'It starts and answers' }).waitFor();
    await page.getByLabel('query').fill('pods');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('Result 1 for pods').waitFor();
    await page.getByRole('group', { name: 'File' }).getByRole('button', { name: 'tool.json' }).click();
    await until(() => page.url().includes('template=python&file=tool.json'), 'the address');
    await page
      .getByRole('textbox', { name: 'tool.json' })
      .fill('{"command":"python3","args":["nothing.py"]}');
    await page.getByRole('button', { name: 'Dry run', exact: true }).click();
    await page.getByRole('alert').getByText('nothing.py').first().waitFor();
    await page
      .getByRole('textbox', { name: 'tool.json' })
      .fill('{"command":"python3","args":["tool.py"],"tags":["mine"]}');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'from_template' }).waitFor();
    const { body } = await lab.call('from_template', { query: 'nodes', limit: 1 });
    assert.equal(body.result.items[0].title, 'Result 1 for nodes');
    const { body: saved } = await lab.api('GET', '/api/v1/custom-tools/from_template');
    assert.deepEqual(saved.tags, ['mine']);
    assert.match(saved.description, /^Finds what the tool does/);
    await page.getByRole('link', { name: 'Edit' }).click();
    const code = page.getByRole('textbox', { name: 'tool.py' });
    const text = (await lab.api('GET', '/api/v1/custom-tools/from_template/bundle/files')).body.data.find(
      ({ path }) => path === 'tool.py',
    ).content;
    await code.fill(`\nimport nothing_here\n${text}`);
    await page.getByRole('button', { name: 'Dry run', exact: true }).click();
    await page.locator('.cm-lint-marker-error').waitFor();
    assert.equal(await page.locator('.cm-lintRange-error').first().innerText(), 'import nothing_here');
    await code.fill(text.replaceAll('Result {', 'Finding {'));
    await page.reload();
    await page.getByRole('button', { name: 'Dry run', exact: true }).click();
    await page.getByLabel('query').fill('nodes');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('Finding 1 for nodes').waitFor();
    await saveRevision(page);
    await page.getByRole('heading', { name: 'What revision 2 changed' }).waitFor();
    await page
      .getByRole('region', { name: 'tool.py' })
      .getByText(/Finding/)
      .waitFor();
    const { body: mended } = await lab.call('from_template', { query: 'nodes', limit: 1 });
    assert.equal(mended.result.items[0].title, 'Finding 1 for nodes');
    await visitor.context.close();
  });

  it('a roll-back asks its reason once the revision has been tried', async () => {
    const program = join(lab.program, 'moved.py');
    copyFileSync(join(lab.program, 'tool.py'), program);
    await lab.register('moved', { args: ['moved.py'] });
    await lab.api('PATCH', '/api/v1/custom-tools/moved?reason=mended', { args: ['mended.py'] });
    rmSync(program);
    const visitor = await lab.visit({ known: [/400|503/] });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/moved/revisions');
    await page.getByRole('button', { name: 'Roll back' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('alert').getByText('moved.py').first().waitFor();
    assert.equal(await dialog.getByLabel('Reason').count(), 0);
    assert.ok(await dialog.getByRole('button', { name: 'Roll back' }).isDisabled());
    assert.deepEqual(await violationsOf(page, 'roll-back'), []);
    copyFileSync(join(lab.program, 'tool.py'), program);
    await dialog.getByRole('button', { name: 'Try again' }).click();
    await dialog.getByLabel('Reason').fill('the mended one counts wrong');
    await dialog.getByRole('button', { name: 'Roll back' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('rollback to 1').waitFor();
    await page.getByRole('cell', { name: 'the mended one counts wrong' }).waitFor();
    const { body } = await lab.api('GET', '/api/v1/audit?target=moved');
    const reasons = body.data.filter(({ reason }) => reason !== null);
    assert.deepEqual(
      reasons.map(({ action, reason }) => [action, reason]),
      [
        ['rollBackCustomTool', 'the mended one counts wrong'],
        ['updateCustomTool', 'mended'],
      ],
    );
    await visitor.context.close();
  });

  it('what a program says of itself is taken over from its file, and a bad schema is told with its place', async () => {
    const visitor = await lab.visit({ known: [/400/] });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/from_template/edit?file=tool.py');
    const code = page.getByRole('textbox', { name: 'tool.py' });
    const { body } = await lab.api('GET', '/api/v1/custom-tools/from_template/bundle/files');
    const { content } = body.data.find(({ path }) => path === 'tool.py');
    const version2 = content.replace('"version": "1.0.0"', '"version": "2.0.0"');
    const dryRun = () => page.getByRole('button', { name: 'Dry run', exact: true }).click();
    const take = () => page.getByRole('button', { name: 'Take over from the file' }).click();
    await code.fill(version2);
    await dryRun();
    await page.getByText('version: the registration says "1.0.0", the executable says "2.0.0"').waitFor();
    await take();
    await page.getByRole('textbox', { name: 'tool.json' }).waitFor();
    await page.getByText('the registration says').first().waitFor({ state: 'detached' });
    await page.getByText('2.0.0', { exact: true }).waitFor();
    await page
      .getByRole('group', { name: 'File' })
      .getByRole('button', { name: 'tool.py', exact: true })
      .click();
    await code.fill(version2.replace('"type": "string"', '"type": "strng"'));
    await dryRun();
    await page.getByRole('heading', { name: 'Its input schema is wrong' }).waitFor();
    await page
      .getByRole('alert')
      .getByText('/properties/query/type of its inputSchema: "strng" is no JSON type')
      .waitFor();
    await code.fill(version2.replace('import json', 'import json\ndef broken(:'));
    await dryRun();
    await page
      .getByRole('alert')
      .getByText(/^tool\.py line \d+: SyntaxError/)
      .waitFor();
    assert.equal(await page.getByText('.bundles/').count(), 0);
    await visitor.context.close();
  });

  it('a tool.json is opened from a file, and what is wrong with it stands at its fields', async () => {
    const visitor = await lab.visit({ known: [/400/] });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/new?from=json');
    const manifest = { name: 'word_count_2', command: 'python3', args: ['tool.py'], workingDir: lab.program };
    const open = (content) =>
      page
        .getByLabel('Open a tool.json')
        .setInputFiles({ name: 'tool.json', mimeType: 'application/json', buffer: Buffer.from(content) });
    await open(JSON.stringify({ ...manifest, timeoutMs: 1 }));
    await page.getByRole('button', { name: 'Dry run', exact: true }).click();
    await page.getByRole('alert').getByText('timeoutMs').waitFor();
    await page.getByRole('button', { name: 'Program', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('not a name');
    await page.getByRole('button', { name: 'Dry run', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).and(page.locator('[aria-invalid]')).waitFor();
    await page.getByRole('button', { name: 'tool.json', exact: true }).click();
    const dropped = await page.evaluateHandle((text) => {
      const transfer = new window.DataTransfer();
      transfer.items.add(new window.File([text], 'tool.json', { type: 'application/json' }));
      return transfer;
    }, JSON.stringify(manifest));
    await page
      .getByRole('textbox', { name: 'Settings as JSON' })
      .dispatchEvent('drop', { dataTransfer: dropped });
    await page.getByText('"word_count_2"').waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'word_count_2' }).waitFor();
    await visitor.context.close();
  });

  it('the tools of an MCP server are listed, and called, before it is saved and after', async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/new?from=mcp');
    await page.getByLabel('Name', { exact: true }).fill('notes');
    await page.getByLabel('Command').fill('node mcp-server.mjs');
    await page.getByLabel('Folder').fill(servers);
    await page.getByRole('button', { name: 'Dry run', exact: true }).click();
    const row = page.getByRole('table', { name: 'Tools of the server' }).getByRole('row', { name: /echo/ });
    await row.getByRole('button', { name: 'Call' }).click();
    await page.getByLabel('text').fill('said to a server that is not saved');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('success', { exact: true }).waitFor();
    assert.equal((await lab.api('GET', '/api/v1/custom-tools/notes')).status, 404);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'notes' }).waitFor();
    const tools = page.getByRole('table', { name: 'Tools of notes' });
    await tools.getByRole('link', { name: 'echo' }).click();
    await page.getByRole('heading', { name: 'notes__echo' }).waitFor();
    await page.getByRole('link', { name: 'Its server' }).click();
    await tools.getByRole('row', { name: /echo callable/ }).waitFor();
    await page.getByRole('link', { name: 'Tools', exact: true }).first().click();
    await page.getByRole('link', { name: 'notes', exact: true }).click();
    await tools.waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or run a command' }).fill('notes');
    await page.getByRole('option', { name: 'notes Tool, server' }).waitFor();
    await page.keyboard.press('Escape');
    await visitor.open('/tools/notes/activity');
    await page.waitForURL('**/console/tools/notes/tools');
    await visitor.context.close();
  });

  it('a tool that its MCP server changed waits until somebody has read what changed', async () => {
    const lists = join(lab.program, 'lists.json');
    const late = (description) =>
      writeFileSync(lists, JSON.stringify([{ name: 'late', description, inputSchema: { type: 'object' } }]));
    late('Reads a report.\nIt changes nothing.');
    const { status } = await lab.register('changing', {
      ...{ protocol: 'mcp', command: 'node', args: ['mcp-server.mjs', `--lists=${lists}`] },
      ...{ workingDir: servers, sandbox: { allowedPaths: [lab.program] } },
    });
    assert.equal(status, 201);
    late('Reads a report.\nIt sends it elsewhere.');
    await lab.call('changing__change', {});
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    const why = 'its definition changed since it was approved';
    await visitor.open('/');
    const row = page.getByRole('article', { name: 'changing__late' });
    await row.getByText(why).waitFor();
    await row.getByRole('link', { name: 'Review' }).waitFor();
    await visitor.open('/tools');
    await page.getByRole('row', { name: /changing__late held/ }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or run a command' }).fill('changing__late');
    await page.getByRole('option', { name: 'changing__late Tool, mcp, held' }).waitFor();
    await page.keyboard.press('Escape');
    await visitor.open('/tools/changing__late/health');
    await page.getByText(`Its calls are refused: ${why}`).waitFor();
    await page.getByRole('link', { name: 'Review' }).click();
    await page.getByText('1 tool of this server waits for approval').waitFor();
    await lab.api('GET', '/api/v1/custom-tools/changing/health');
    const notice = page.getByText('1 of its tools are held back');
    await visitor.open('/tools/changing/settings');
    await notice.waitFor();
    await visitor.open('/tools/changing/tools');
    await page.getByText('1 tool of this server waits for approval').waitFor();
    assert.equal(await notice.count(), 0);
    await page
      .getByRole('row', { name: /late held/ })
      .getByRole('button', { name: 'Show' })
      .click();
    const changed = page
      .getByRole('row')
      .filter({ hasText: /^It changes nothing\.\s*It sends it elsewhere\.$/ });
    await changed.waitFor();
    await page.getByRole('button', { name: 'Approve late' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('read');
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('row', { name: /late callable/ }).waitFor();
    assert.equal((await lab.call('changing__late', {})).status, 200);
    await visitor.open('/tools');
    await page.getByRole('button', { name: 'Tools of changing' }).click();
    await page.getByRole('link', { name: 'changing__late' }).waitFor();
    assert.equal(await page.getByRole('row', { name: /changing__late held/ }).count(), 0);
    await visitor.context.close();
  });

  it("Tools begins with one's own; built-in ones and those of servers are groups, until something is searched", async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    const builtin = page.getByRole('link', { name: 'get_playbooks' });
    await visitor.open('/tools');
    await page.getByRole('link', { name: 'word_count', exact: true }).waitFor();
    assert.equal(await builtin.count(), 0);
    await page.getByRole('button', { name: 'Built-in tools' }).click();
    await builtin.waitFor();
    assert.match(page.url(), /open=/);
    await visitor.open('/tools?q=get_play');
    await builtin.waitFor();
    assert.equal(await page.getByRole('button', { name: 'Built-in tools' }).count(), 0);
    await visitor.context.close();
  });

  it('the head of a tool that fails offers to hold its circuit open', async () => {
    // Its circuit stays closed by itself.
    await lab.register('ailing', { thresholds: { errorThreshold: 1_000 } });
    for (let index = 0; index < 6; index += 1) await lab.call('ailing', { text: '' });
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/ailing/health');
    await page.locator('main header').getByRole('button', { name: 'Hold open' }).click();
    await page.getByLabel('Reason').fill('its backend is away');
    await page.getByRole('dialog').getByRole('button', { name: 'Hold open' }).click();
    await page.getByText(/^Its calls are refused .*: its backend is away$/).waitFor();
    await page.getByRole('button', { name: 'Close circuit' }).waitFor();
    assert.equal(await page.locator('main header').getByRole('button', { name: 'Hold open' }).count(), 0);
    await visitor.open('/tools/ailing/settings');
    await page.getByText('What it may touch').waitFor();
    for (const text of ['none', '64, with threads', '30 s'])
      await page.getByText(text, { exact: true }).first().waitFor();
    await visitor.context.close();
  });

  it('a bench is as high as the window: Ctrl Enter runs, and each view of the result is in sight', async () => {
    const visitor = await lab.visit({ viewport: { width: 1440, height: 900 } });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/word_count/try');
    await page.getByText('Run the tool to see its result').waitFor();
    const inSight = async (locator) => {
      // The text is drawn anew once the editor that colours it has loaded.
      const { y, height } = await until(() => locator.boundingBox(), 'a place on the screen');
      assert.ok(y >= 0 && y + height <= 900, `${locator} ends at ${y + height}`);
    };
    const run = async (text, words) => {
      await page.getByLabel('text').fill(text);
      await page.keyboard.press('Control+Enter');
      const result = page.getByText(`"words": ${words}`);
      await result.waitFor();
      await inSight(result);
    };
    await run('one two', 2);
    await run('one two three', 3);
    await inSight(page.getByRole('button', { name: 'Run', exact: true }));
    assert.ok(await page.evaluate(() => document.documentElement.scrollHeight <= window.innerHeight));
    const view = (name) => page.getByRole('tab', { name }).click();
    await view('Diff');
    await page.getByRole('row', { name: '/words 2 3' }).waitFor();
    await view('Timing');
    await page.getByText('Browser to answer').waitFor();
    await view('Logs');
    await page.getByRole('log').getByText('one two three').waitFor();
    assert.equal(await page.getByRole('log').getByText('one two', { exact: true }).count(), 0);
    await visitor.context.close();
  });

  it('a tool that is disabled can still be tried', async () => {
    await lab.register('resting');
    await lab.api('POST', '/api/v1/custom-tools/resting/disable');
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/resting/try');
    await page.getByLabel('text').fill('one two three');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('"words": 3').waitFor();
    await visitor.context.close();
  });

  it('a number that would be rounded is refused at its field, and what is wrong with an input is told once', async () => {
    writeFileSync(join(lab.program, 'digits.py'), digits);
    await lab.register('digits', { args: ['digits.py'] });
    const visitor = await lab.visit({ known: [/4\d\d/] });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/digits/try');
    const run = () => page.getByRole('button', { name: 'Run', exact: true }).click();
    const listed = () => page.locator('[id$=__error] li').allInnerTexts();
    const tooLarge = 'is larger than 9007199254740991: a number in JSON cannot hold it exactly';
    await page.getByLabel('number').fill('9007199254740993');
    await page.keyboard.press('Tab');
    await page.getByText(tooLarge).waitFor();
    assert.equal(await page.getByLabel('number').inputValue(), '9007199254740993');
    await page.getByLabel('code').fill('ABC');
    await page.getByRole('combobox', { name: 'Variant' }).selectOption('By query');
    await run();
    await page.getByRole('alert').waitFor();
    assert.deepEqual(await listed(), ['String does not match pattern.', tooLarge, 'is required']);
    assert.deepEqual(await violationsOf(page, 'variants'), []);
    await page.getByLabel('number').fill('42');
    // What is found on leaving a field moves the button.
    await page.keyboard.press('Tab');
    await page.getByText('does not match pattern').waitFor();
    await run();
    await page.getByRole('alert').getByText('input/code').waitFor();
    assert.deepEqual(await listed(), ['String does not match pattern.', 'is required']);
    await page.getByLabel('code').fill('abc');
    await page.getByRole('textbox', { name: 'query' }).fill('pods');
    await page.keyboard.press('Tab');
    await run();
    await page.getByText('4 2').waitFor();
    await visitor.context.close();
  });

  it('a form takes a file, several of a list, one of hundreds, and shows what is fixed', async () => {
    writeFileSync(join(lab.program, 'fields.py'), fields);
    await lab.register('fields', { args: ['fields.py'] });
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/fields/try');
    await page
      .getByLabel('file')
      .setInputFiles({ name: 'a.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 255]) });
    await page.getByText('2 B chosen').waitFor();
    for (const kind of ['red', 'blue']) await page.getByLabel(kind).check();
    await page.getByLabel('zone').fill('zone-499');
    assert.equal(await page.locator('output').innerText(), 'v1');
    assert.deepEqual(await violationsOf(page, 'fields'), []);
    const sent = page.waitForRequest(/fields\/test$/);
    await page.keyboard.press('Control+Enter');
    const { input } = JSON.parse((await sent).postData());
    assert.deepEqual(input, { fixed: 'v1', file: 'AP8=', kinds: ['red', 'blue'], zone: 'zone-499' });
    await page.getByText('success', { exact: true }).waitFor();
    await visitor.context.close();
  });

  it('an act that is copied runs in a shell, and is none before', async () => {
    await lab.register('cut_off');
    const visitor = await lab.visit({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/cut_off/circuit');
    await page.getByRole('button', { name: 'Hold open' }).click();
    await page.getByLabel('Reason').fill(`it's "so"`);
    await page.getByRole('button', { name: 'Copy as …', exact: true }).click();
    await page.getByRole('menuitem', { name: 'curl' }).click();
    await page.getByText('Copied', { exact: true }).first().waitFor();
    const command = await page.evaluate(() => window.navigator.clipboard.readText());
    const circuit = () => lab.api('GET', '/api/v1/tool-health/cut_off/circuit');
    assert.equal((await circuit()).body.state, 'closed');
    execFileSync('bash', ['-c', command], { env: { ...process.env, TOOLKEEPER_KEY: lab.adminKey } });
    const { state, reason } = (await circuit()).body;
    assert.deepEqual({ state, reason }, { state: 'open', reason: `it's "so"` });
    await visitor.context.close();
  });

  it('a virtual MCP server is made, pointed at, edited and deleted on one screen', async () => {
    await lab.register('summed');
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/connect');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Make a virtual server' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('support');
    await dialog.getByRole('combobox', { name: 'Add a tool' }).fill('summ');
    await page.getByRole('option', { name: 'tool summed' }).click();
    await dialog.getByLabel('Own name of tool summed').fill('sum_up');
    assert.deepEqual(await violationsOf(page), []);
    await dialog.getByRole('button', { name: 'Save' }).click();
    const row = page.getByRole('row', { name: /\/mcp\/support/ });
    await row.getByText('1 tool').waitFor();
    const server = async () => (await lab.api('GET', '/api/v1/mcp-servers/support')).body;
    assert.deepEqual((await server()).members, [{ tool: 'summed', as: 'sum_up' }]);
    await page.getByRole('combobox', { name: 'Tools', exact: true }).click();
    await page.getByRole('option', { name: 'support' }).click();
    await page.getByText(`"url": "${lab.url}/mcp/support"`).waitFor();
    await page.getByRole('button', { name: 'Edit support' }).click();
    await dialog.getByRole('combobox', { name: 'Add a tool' }).fill('word_');
    await page.getByRole('option', { name: 'tool word_count', exact: true }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByText('2 tools').waitFor();
    await page.getByRole('button', { name: 'Delete support' }).click();
    await dialog.getByLabel('Reason').fill('nobody uses it');
    await dialog.getByRole('button', { name: 'Delete virtual server' }).click();
    await row.waitFor({ state: 'detached' });
    await visitor.context.close();
  });

  it('a grade and its reason are there after the server was started anew', async () => {
    await lab.register('graded');
    const look = () => lab.api('GET', '/api/v1/tool-health/graded');
    // A grade has changed where another one was seen before.
    await look();
    for (let index = 0; index < 5; index += 1) await lab.call('graded', { text: '' });
    const changes = () => lab.api('GET', '/api/v1/tool-health/graded/history');
    await until(async () => (await look()) && (await changes()).body.data.length > 0, 'a grade');
    const visitor = await lab.visit({
      known: [/Failed to load resource/],
    });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/graded/health');
    const kept = page
      .getByRole('table', { name: 'Changes of the grade' })
      .getByRole('row', { name: /not graded unhealthy/ });
    const said = await kept.getByRole('cell').last().innerText();
    await lab.restart(async () => undefined);
    await page.reload();
    assert.equal(await kept.getByRole('cell').last().innerText(), said);
    await visitor.context.close();
  });

  it('nothing went wrong in any page, and none asked anybody else', () => lab.assertQuiet());
});
