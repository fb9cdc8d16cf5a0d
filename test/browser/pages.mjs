import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { violationsOf } from './axe.mjs';
import { openLab, until } from './lab.mjs';
import { screens } from './screens.mjs';

// real: the built server with its own PostgreSQL, tools' processes, Chromium, axe; mock: nothing

const themes = ['light', 'dark'];
/** A small telephone; and a window of 1280 pixels at 200 %. */
const narrow = [
  { width: 320, height: 640 },
  { width: 640, height: 400 },
];
const wide = { width: 1280, height: 800 };
/** The browser says so of every answer that is none; that some are is the point of some screens. */
const known = [/40[0134]/];

describe('pages', () => {
  let lab;
  const ids = {};
  before(async () => {
    lab = await openLab();
    await lab.register('word_count');
    await lab.register('notes', {
      ...{ protocol: 'mcp', command: 'node', args: ['mcp-server.mjs'] },
      workingDir: join(process.cwd(), 'test/fixtures/tools'),
    });
  });
  after(async () => {
    await lab.close();
  });

  const check = async (page, where) => assert.deepEqual(await violationsOf(page, where), []);
  const drawn = async (page, text) => {
    await page.getByText(text).first().waitFor();
    await until(async () => (await page.getByRole('status', { name: 'Loading' }).count()) === 0, 'the rest');
  };
  const tooWide = async (page, where) => {
    const found = [];
    for (const size of narrow) {
      await page.setViewportSize(size);
      const excess = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      if (excess > 0) found.push(`${where}: ${excess} pixels too wide for ${size.width}`);
    }
    await page.setViewportSize(wide);
    return found;
  };

  /** Goes through all screens of a state: each is drawn, has no violation, and fits narrow windows. */
  const walk = async (visitor, state) => {
    const found = [];
    for (const { path, [state]: text } of screens(ids)) {
      if (text === undefined) continue;
      await visitor.open(path);
      await drawn(visitor.page, text).catch((error) => assert.fail(`${path}: ${error.message}`));
      found.push(...(await violationsOf(visitor.page, path)), ...(await tooWide(visitor.page, path)));
    }
    assert.deepEqual(found, []);
  };

  for (const colorScheme of themes)
    it(`of a server that nobody has called are accessible in the ${colorScheme} theme, and fit`, async () => {
      const visitor = await lab.visit({ colorScheme, known });
      await lab.signIn(visitor);
      await walk(visitor, 'fresh');
      await visitor.context.close();
    });

  describe('of a server in use', () => {
    before(async () => {
      for (let index = 0; index < 12; index += 1)
        await lab.call(
          'word_count',
          { text: index % 3 === 0 ? '' : 'two words' },
          { investigationId: `inc-${index}` },
        );
      for (const [version, hours] of [
        ['1.0.0', 4],
        ['1.1.0', 8],
      ]) {
        const steps = Array.from({ length: 12 }, (_, index) => `${index}. Wait ${index === 6 ? hours : 1} h`);
        await lab.api('POST', '/api/v1/playbooks', {
          ...{ playbook_id: 'twice-written', version, name: 'Wait', description: 'When nothing else helps.' },
          content: steps.join('\n'),
        });
      }
      const now = Date.now() * 1_000;
      await lab.api('POST', '/api/v1/spans', {
        ...{ trace_id: 'a-trace', span_id: 'a-model-call', operation_name: 'api_invoke' },
        ...{ start_time_us: now - 2_000_000, finish_time_us: now },
        attribute: {
          request: { model: 'm', messages: [{ role: 'user', content: 'Hi {{name}}' }] },
          output: 'Hi',
        },
      });
      const { body } = await lab.api('POST', '/api/v1/experiments', {
        ...{ name: 'A cheaper model', original_span_id: 'a-model-call' },
      });
      ids.experiment = body.id;
      const listed = () => lab.api('GET', '/api/v1/tool-metrics/executions?status=error');
      ids.execution = (await until(async () => (await listed()).body.data[0], 'a failed execution')).metricId;
    });

    for (const colorScheme of themes) {
      it(`are accessible in the ${colorScheme} theme, and fit`, async () => {
        const visitor = await lab.visit({ colorScheme, known });
        await lab.signIn(visitor);
        await walk(visitor, 'full');
        await visitor.context.close();
      });

      it(`are so for a key that may see little, in the ${colorScheme} theme`, async () => {
        const { body } = await lab.api('POST', '/api/v1/keys', { name: 'caller', scopes: ['tools:call'] });
        const visitor = await lab.visit({ colorScheme, known });
        await lab.signIn(visitor, body.key);
        await walk(visitor, 'refused');
        await visitor.context.close();
      });

      it(`have dialogs that are, in the ${colorScheme} theme`, async () => {
        const visitor = await lab.visit({ colorScheme, viewport: wide });
        const { page } = visitor;
        const closed = async () => {
          await page.keyboard.press('Escape');
          await page.getByRole('dialog').waitFor({ state: 'detached' });
        };
        await visitor.open('/tools/word_count/circuit');
        await page.getByRole('button', { name: 'Hold open' }).click();
        await page.getByRole('dialog').waitFor();
        await check(page, 'asking for the key');
        await closed();
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox', { name: 'Search or run a command' }).fill('word');
        await page.getByRole('option').first().waitFor();
        await check(page, 'palette');
        await closed();
        await page.keyboard.press('?');
        await page.getByRole('dialog', { name: 'Keys' }).waitFor();
        await check(page, 'keys');
        await closed();
        await lab.signIn(visitor);
        for (const [path, button, item] of [
          ['/tools/word_count/circuit', 'Hold open'],
          ['/tools/word_count/settings', 'More actions', 'Remove'],
          ['/playbooks/cluster-dns-repair', 'More actions', 'Disable'],
          ['/playbooks/cluster-dns-repair', 'Record an outcome'],
          ['/settings/keys', 'Make a key'],
        ]) {
          await visitor.open(path);
          await page.getByRole('button', { name: button }).click();
          if (item) await page.getByRole('menuitem', { name: item }).click();
          await page.getByRole('dialog').waitFor();
          assert.deepEqual([...(await violationsOf(page, button)), ...(await tooWide(page, button))], []);
          await closed();
        }
        await visitor.context.close();
      });
    }

    it('show the same at the same address: after a reload, and in another browser', async () => {
      const visitor = await lab.visit({ known });
      const other = await lab.visit({ known });
      for (const each of [visitor, other]) await lab.signIn(each);
      const different = [];
      for (const { path, full } of screens(ids)) {
        await visitor.open(path);
        await drawn(visitor.page, full);
        const address = visitor.page.url();
        // A single thing's page names its project.
        if (address.replace(/\?project=default$/, '') !== `${lab.url}/console${path}`)
          different.push(address);
        const text = await settledText(visitor.page);
        await visitor.page.reload();
        await other.page.goto(address);
        for (const { page } of [visitor, other]) {
          await drawn(page, full);
          const again = await settledText(page);
          if (again !== text || page.url() !== address) different.push([page.url(), text, again]);
        }
      }
      assert.deepEqual(different, []);
      for (const { context } of [visitor, other]) await context.close();
    });
  });

  it('said nothing wrong, and asked nobody else', () => lab.assertQuiet());
});

/** The words of a screen in the end, but for times and the ids of its requests and of its tab. */
async function settledText(page) {
  let last;
  return until(async () => {
    const before = last;
    last = (await page.getByRole('main').innerText())
      .replaceAll(/\bnow\b|(\bin )?\b\d+ ?(s|m|min|h|hr)\b( ago)?/g, '…')
      .replaceAll(/\d\d:\d\d/g, '…')
      .replaceAll(/request [\w-]{36}/g, 'request …')
      .replaceAll(/uis_[\w-]+/g, 'uis_…')
      // JSON can be read before it can be folded.
      .replaceAll('⌄\n', '');
    return last === before && last;
  }, 'a screen that stands still');
}
