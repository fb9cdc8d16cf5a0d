import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import lighthouse, { desktopConfig } from 'lighthouse';
import { chromiumPath, launchArguments } from './chromium.mjs';
import { openLab, until } from './lab.mjs';

// real: the built server with its own PostgreSQL, Chromium, Lighthouse; mock: nothing

const median = (figures) => figures.sort((a, b) => a - b)[Math.floor(figures.length / 2)];
const paths = ['/', '/tools', '/tools/word_count/health', '/executions'];
const least = { performance: 0.95, accessibility: 1, 'best-practices': 0.95 };

describe('speed', () => {
  let lab;
  before(async () => {
    lab = await openLab();
    await lab.register('word_count');
    for (let index = 0; index < 400; index += 1) await lab.call('word_count', { text: `call ${index}` });
    const listed = () => lab.api('GET', '/api/v1/tool-metrics/executions?limit=400');
    await until(async () => (await listed()).body.data.length === 400, 'the records');
  });
  after(async () => {
    await lab.close();
  });

  it('a long list is scrolled through with few nodes and no long pause', async () => {
    const visitor = await lab.visit();
    const { page } = visitor;
    await visitor.open('/executions');
    await page.getByText('loaded; scroll for more').waitFor();
    await page.evaluate(() => {
      window.pauses = [];
      new PerformanceObserver((list) =>
        window.pauses.push(...list.getEntries().map(({ duration }) => duration)),
      ).observe({
        type: 'longtask',
      });
    });
    await until(async () => {
      await page.mouse.wheel(0, 2_000);
      return (await page.getByText('400 in all').count()) === 1;
    }, 'the end of the list');
    const rows = await page.getByRole('row').count();
    assert.ok(rows <= 80, `${rows} rows in the document`);
    const pauses = await page.evaluate(() => window.pauses.filter((ms) => ms > 200));
    assert.deepEqual(pauses, []);
    await visitor.context.close();
  });

  it('the first screen takes few requests, one of them for data before it is drawn', async () => {
    const visitor = await lab.visit();
    const asked = [];
    visitor.page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await visitor.open('/');
    await visitor.page.getByText('Newest executions').waitFor();
    const data = asked.filter((path) => path.startsWith('/api/'));
    assert.ok(data.indexOf('/api/v1/tool-health/dashboard') <= 2, data.join(' '));
    await visitor.context.close();
  });

  it('Lighthouse finds the screens fast and sound: the median of five', async () => {
    const profile = mkdtempSync(join(tmpdir(), 'toolkeeper-lighthouse-'));
    const chrome = spawn(
      chromiumPath(),
      [
        ...launchArguments,
        '--headless=new',
        '--remote-debugging-port=0',
        `--user-data-dir=${profile}`,
        'about:blank',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let said = '';
    chrome.stderr.on('data', (chunk) => (said += chunk));
    const port = await until(() => /ws:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1], 'Chromium');
    try {
      for (const path of paths) {
        const runs = [];
        for (let run = 0; run < 5; run += 1)
          runs.push(
            await lighthouse(
              `${lab.url}/console${path}`,
              { port: Number(port), onlyCategories: Object.keys(least), logLevel: 'error' },
              desktopConfig,
            ),
          );
        for (const [category, score] of Object.entries(least)) {
          const found = median(runs.map(({ lhr }) => lhr.categories[category].score));
          console.log(`${path} ${category}: ${found}`);
          assert.ok(found >= score, `${path} ${category}: ${found}`);
        }
      }
    } finally {
      chrome.kill('SIGTERM');
      await once(chrome, 'exit');
      rmSync(profile, { recursive: true, force: true });
    }
  });

  it('nothing went wrong meanwhile', () => lab.assertQuiet());
});
