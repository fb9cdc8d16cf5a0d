import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { violationsOf } from './axe.mjs';
import { saveRevision } from './hands.mjs';
import { openLab, until } from './lab.mjs';

// real: the built server with its own PostgreSQL, tools' processes, Chromium; mock: nothing

/** Says what it is at once, or never, and takes a minute for each call. */
const slow = `import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "initialize" and "never" in sys.argv: time.sleep(60)
    if request["method"] == "execute": time.sleep(60)
    result = {"name": "slow", "description": "Takes its time", "version": "1.0.0", "inputSchema": {
        "type": "object", "properties": {"text": {"type": "string"}}}, "status": "healthy"}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
`;

describe('interruptions', () => {
  let lab;
  before(async () => {
    lab = await openLab();
    writeFileSync(join(lab.program, 'slow.py'), slow);
    await lab.register('word_count');
    await lab.register('slow', { args: ['slow.py'] });
  });
  after(async () => {
    await lab.close();
  });

  it('a reload during a dry run ends it, and keeps what was typed', async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/new');
    await page.getByLabel('Name', { exact: true }).fill('typed');
    await page.getByLabel('Command').fill('python3 slow.py never');
    await page.getByLabel('Folder').fill(lab.program);
    await page.getByRole('button', { name: 'Dry run', exact: true }).click();
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    await page.reload();
    await page.getByText('Run a dry run to see the result').waitFor();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'typed');
    assert.equal(await page.getByLabel('Folder').inputValue(), lab.program);
    await page.getByLabel('Command').fill('python3 tool.py');
    await page.getByRole('button', { name: 'Dry run', exact: true }).click();
    await page.getByRole('heading', { name: 'It starts and answers' }).waitFor();
    await page.getByRole('button', { name: 'Start over' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'typed');
    await page.getByRole('button', { name: 'Start over' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), '');
    await page.reload();
    await page.getByText('Run a dry run to see the result').waitFor();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), '');
    await visitor.context.close();
  });

  it('a reload during a call cancels the call, and keeps its input', async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/slow/try');
    await page.getByLabel('text').fill('of a minute');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
    assert.equal(await page.getByLabel('text').inputValue(), 'of a minute');
    const ended = () => lab.api('GET', '/api/v1/tool-metrics/executions?tool=slow&errorType=cancelled');
    await until(async () => (await ended()).body.data.length === 1, 'the end of the call');
    await visitor.context.close();
  });

  it('a log goes on after a reload', async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/word_count/logs');
    await lab.call('word_count', { text: 'before-the-reload' });
    await page.getByText('before-the-reload').waitFor();
    await page.reload();
    await page.getByText('before-the-reload').waitFor();
    await page.getByText('following').waitFor();
    await lab.call('word_count', { text: 'after-the-reload' });
    await page.getByText('after-the-reload').waitFor();
    await visitor.context.close();
  });

  it('a server that dies takes nothing along: every screen opens, nothing typed is lost, and all goes on', async () => {
    const visitor = await lab.visit({ known: [/ERR_|Failed to load resource|EventSource/] });
    const { page } = visitor;
    const lost = page.getByText('The connection to the server is lost');
    const save = page.getByRole('button', { name: 'Save revision' });
    await lab.signIn(visitor);
    await visitor.open('/tools/word_count/edit');
    await page.getByLabel('Description').fill('Counts words that are dear');
    await fetchedAhead(page);
    await lab.restart(async () => {
      await lost.waitFor();
      await saveRevision(page);
      await page.getByText('The server does not answer').waitFor();
      await page.getByRole('link', { name: 'Executions' }).click();
      await page.getByRole('heading', { name: 'Executions', exact: true }).waitFor();
      await page.getByText('The server does not answer').first().waitFor();
      await page.goBack();
      await save.waitFor();
    });
    await lost.waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Description').inputValue(), 'Counts words that are dear');
    await saveRevision(page);
    await page.getByRole('heading', { name: 'What revision 2 changed' }).waitFor();
    await page.getByRole('link', { name: 'Executions' }).click();
    await page.getByText('in all').waitFor();
    await visitor.context.close();
  });

  it('is accessible while no server answers', async () => {
    const visitor = await lab.visit({ known: [/ERR_|Failed to load resource|EventSource/] });
    const { page } = visitor;
    await lab.signIn(visitor);
    await visitor.open('/tools/word_count/edit');
    await fetchedAhead(page);
    const found = [];
    await lab.restart(async () => {
      await page.getByText('The connection to the server is lost').waitFor();
      for (const name of ['Tools', 'Executions', 'Investigations', 'Playbooks', 'Events']) {
        await page.getByRole('link', { name, exact: true }).first().click();
        await page.getByText('The server does not answer').first().waitFor();
        for (const colorScheme of ['light', 'dark']) {
          await page.emulateMedia({ colorScheme });
          found.push(...(await violationsOf(page, `${name}, ${colorScheme}`)));
        }
      }
    });
    assert.deepEqual(found, []);
    await visitor.context.close();
  });

  it('nothing went wrong in any page, and none asked anybody else', () => lab.assertQuiet());
});

/** The scripts of the other screens are there: one of them is, and no more come. */
async function fetchedAhead(page) {
  let last;
  await until(async () => {
    const before = last;
    last = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .map(({ name }) => name)
        .filter((name) => name.includes('/assets/'))
        .join(),
    );
    return last === before && /execution-screens-[\w-]+\.js/.test(last);
  }, 'all screens');
}
