import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { PNG } from 'pngjs';
import { openLab, until } from './lab.mjs';

// real: the built server with its own PostgreSQL, tools' processes, Chromium; mock: nothing

/**
 * Screens as pictures. Each is compared, at a quarter of its size, with the sheet of its theme and width in `pictures/`.
 * PICTURES=update takes the sheets anew, and the pictures of docs/operate/console; look at them before they are committed.
 */
const isUpdate = process.env.PICTURES === 'update';
const folder = join(import.meta.dirname, 'pictures');
const docs = join(process.cwd(), 'docs/operate/console');
const sizes = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
];
const themes = ['light', 'dark'];
const scale = 4;
const caretPoints = 20;
/** Grey levels by which a point may differ, and the share of points that may differ by more: times and counts are drawn. */
const most = { levels: 48, share: 0.05 };

/** @param ids of an execution that failed, and of a trace */
const addresses = ({ execution, trace }) => [
  { path: '/', text: 'Newest', name: 'overview' },
  { path: '/tools', text: 'word_count', name: 'tools' },
  { path: '/tools/new?from=template&template=python', text: 'tool.py', name: 'register' },
  { path: '/tools/word_count/activity', text: 'word_count' },
  { path: '/tools/word_count/try', text: 'Run', name: 'try' },
  { path: '/tools/word_count/health', text: 'Error patterns', name: 'health' },
  { path: '/tools/word_count/circuit', text: 'State' },
  { path: '/tools/word_count/revisions', text: 'current' },
  { path: '/tools/word_count/edit', text: 'Save' },
  { path: '/executions', text: 'word_count', name: 'executions' },
  { path: `/executions?exec=${execution}`, text: 'Open' },
  { path: `/executions/${execution}`, text: 'word_count' },
  { path: '/traces', text: '24 s' },
  { path: `/traces/${trace}?span=answer`, text: 'gpt-4.1', name: 'trace' },
  { path: '/experiments', text: 'No experiments yet' },
  { path: '/playbooks?q=pod+OOMKilled+exit+code+137', text: 'Shown to an agent', name: 'playbooks' },
  { path: '/playbooks/cluster-dns-repair', text: 'Procedure' },
  { path: '/investigations', text: 'inc-1' },
  { path: '/settings/keys', text: 'No API keys yet' },
  { path: '/settings/about', text: 'TOOL_INPUT_MAX_BYTES' },
];

describe('pictures', () => {
  let lab;
  let all;
  before(async () => {
    lab = await openLab();
    await lab.register('word_count');
    await lab.record(recorded(Date.now()));
    const trace = 'support-1';
    await lab.api('POST', '/api/v1/spans', spansOf(trace, Date.now() * 1_000 - 90_000_000));
    for (let n = 0; n < 12; n += 1)
      await lab.call(
        'word_count',
        { text: n % 4 === 0 ? '' : 'two words' },
        { investigationId: `inc-${n % 3}` },
      );
    const failed = () => lab.api('GET', '/api/v1/tool-metrics/executions?status=error&tool=word_count');
    const [{ metricId: execution }] = (
      await until(async () => {
        const { body } = await failed();
        return body.data[0]?.errorType === 'tool_crashed' && body;
      }, 'a failed execution')
    ).data;
    all = addresses({ execution, trace });
  });
  after(async () => {
    await lab.close();
  });

  for (const colorScheme of themes)
    for (const viewport of sizes)
      it(`look as they did, ${colorScheme}, ${viewport.width} pixels wide`, async () => {
        const visitor = await lab.visit({ colorScheme, viewport, reducedMotion: 'reduce' });
        await lab.signIn(visitor);
        const taken = [];
        for (const { path, text, name } of all) {
          await visitor.open(path);
          const picture = await pictureOf(visitor.page, text).catch((error) =>
            assert.fail(`${path}: ${error.message}`),
          );
          taken.push(quarter(PNG.sync.read(picture)));
          if (isUpdate && name && viewport.width === 1440)
            writeFileSync(join(docs, `${name}-${colorScheme}.png`), picture);
        }
        await visitor.context.close();
        compare(taken, join(folder, `${colorScheme}-${viewport.width}.png`));
      });

  /** Names the screens that look otherwise. */
  function compare(taken, file) {
    if (isUpdate) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, PNG.sync.write(sheetOf(taken), { colorType: 0 }));
      return;
    }
    const sheet = PNG.sync.read(readFileSync(file));
    const different = taken.flatMap(({ width, height, levels }, index) => {
      const { x, y } = placeOf(index, width, height);
      let count = 0;
      for (let row = 0; row < height; row += 1)
        for (let column = 0; column < width; column += 1) {
          const before = sheet.data[((y + row) * sheet.width + x + column) * 4];
          if (Math.abs(levels[row * width + column] - before) > most.levels) count += 1;
        }
      const share = count / levels.length;
      return share > most.share ? [`${all[index].path}: ${(100 * share).toFixed(1)} %`] : [];
    });
    assert.deepEqual(different, [], `they differ from ${file}; PICTURES=update takes it anew`);
  }
});

/** A screen that stands still: two pictures in a row differ by no more than a caret does. */
async function pictureOf(page, text) {
  await page.getByText(text).first().waitFor();
  const loading = page.getByRole('status', { name: 'Loading' });
  await until(async () => (await loading.count()) === 0, 'the rest');
  let last;
  return until(async () => {
    const before = last;
    const picture = await page.screenshot({ animations: 'disabled', caret: 'hide' });
    last = quarter(PNG.sync.read(picture)).levels;
    const isStill = before && last.filter((level, at) => level !== before[at]).length < caretPoints;
    return isStill && picture;
  }, 'a screen that stands still');
}

/** The grey levels of a picture at a quarter of its size. */
function quarter({ width, height, data }) {
  const [columns, rows] = [Math.floor(width / scale), Math.floor(height / scale)];
  const levels = new Uint8Array(columns * rows);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1) {
      let sum = 0;
      for (let y = 0; y < scale; y += 1)
        for (let x = 0; x < scale; x += 1) {
          const at = ((row * scale + y) * width + column * scale + x) * 4;
          sum += 0.3 * data[at] + 0.59 * data[at + 1] + 0.11 * data[at + 2];
        }
      levels[row * columns + column] = sum / scale ** 2;
    }
  return { width: columns, height: rows, levels };
}

const perRow = 5;
const placeOf = (index, width, height) => ({
  x: (index % perRow) * width,
  y: Math.floor(index / perRow) * height,
});

function sheetOf(pictures) {
  const [{ width, height }] = pictures;
  const sheet = new PNG({ width: perRow * width, height: Math.ceil(pictures.length / perRow) * height });
  pictures.forEach(({ levels }, index) => {
    const { x, y } = placeOf(index, width, height);
    levels.forEach((level, at) => {
      const point = ((y + Math.floor(at / width)) * sheet.width + x + (at % width)) * 4;
      sheet.data.set([level, level, level, 255], point);
    });
  });
  return sheet;
}

/** A day of calls of four tools: one fails often for two hours, one is slow. */
function recorded(now) {
  const tools = ['word_count', 'log_summary', 'disk_usage', 'get_playbooks'];
  return Array.from({ length: 2_000 }, (_, n) => {
    const toolName = tools[n % tools.length];
    const ageMs = (2_000 - n) * 40_000;
    const isBad = toolName === 'disk_usage' && ageMs < 7_200_000 && n % 3 === 0;
    return {
      ...{ toolName, recordedAt: new Date(now - ageMs), investigationId: `inc-${n % 9}` },
      executionTimeMs: (toolName === 'log_summary' ? 900 : 20) + (n % 17) * 9,
      ...{ inputSize: 40 + (n % 30), outputSize: 400 + (n % 90) },
      ...(isBad && {
        status: 'error',
        errorType: 'tool_error',
        errorMessage: 'df: /mnt/data: Input/output error',
      }),
    };
  });
}

/** A support agent that asks a model and calls tools; one call fails. */
function spansOf(trace, startUs) {
  const usage = { input_tokens: 812, output_tokens: 96 };
  const model = { model_name: 'gpt-4.1', cost: 0.0031, usage };
  const ask = [{ role: 'user', content: 'Why is web-1 slow?' }];
  return [
    ['root', undefined, 'run', 0, 24_000, { label: 'support' }],
    ['agent', 'root', 'agent', 40, 23_900, {}],
    [
      'ask',
      'agent',
      'api_invoke',
      80,
      2_400,
      { ...model, request: { messages: ask }, output: 'I look at its disk.' },
    ],
    [
      'disk',
      'agent',
      'tool_call',
      2_600,
      800,
      { tool_name: 'disk_usage', error: 'df: /mnt/data: Input/output error' },
    ],
    [
      'think',
      'agent',
      'api_invoke',
      3_500,
      3_100,
      { ...model, request: { messages: ask }, output: 'The disk fails.' },
    ],
    [
      'log',
      'agent',
      'tool_call',
      6_700,
      900,
      { tool_name: 'log_summary', output: 'Failed to open /var/log/syslog' },
    ],
    [
      'answer',
      'agent',
      'api_invoke',
      20_000,
      3_800,
      { ...model, request: { messages: ask }, output: 'Replace the disk of web-1.' },
    ],
  ].map(([span_id, parent, operation_name, from, ms, attribute]) => ({
    ...{ trace_id: trace, span_id, operation_name, run_id: 'run-support', thread_id: 'thread-7', attribute },
    ...(parent && { parent_span_id: parent }),
    start_time_us: startUs + from * 1_000,
    finish_time_us: startUs + (from + ms) * 1_000,
  }));
}
