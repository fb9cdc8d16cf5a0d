import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { violationsOf } from './axe.mjs';
import { byKeys, byMouse } from './hands.mjs';
import { openLab, until } from './lab.mjs';

const { startLlmServer } = await import('../support/llm-endpoint.ts');
const { calling } = await import('../support/assistant.ts');
const { chatModel } = await import('../support/chat-model.ts');
const { exportRun, ordersFound, wentWrong } = await import('../support/planted-run.ts');

// real: the built server with its own PostgreSQL, tools' processes, Chromium, axe; scripted: models that know only what they read

const hostile =
  '<img src=x onerror="window.caught=1"> ![pixel](https://evil.test/pixel.png) [go](javascript:window.caught=1) \u202egnp.exe';

/** Answers with its input. */
const echo = `import json, sys
for line in sys.stdin:
    request = json.loads(line)
    result = {"status": "healthy"}
    if request["method"] == "initialize":
        result = {"name": "find_orders", "description": "Finds orders", "version": "1.0.0", "inputSchema": {"type": "object"}}
    elif request["method"] == "execute":
        result = request["params"]["input"]
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
`;

describe('the assistant', () => {
  let lab;
  let llm;
  before(async () => {
    llm = await startLlmServer(chatModel);
    lab = await openLab({ LLM_BASE_URL: llm.url, LLM_MODEL: 'gpt-4.1' });
    const { writeFileSync } = await import('node:fs');
    writeFileSync(`${lab.program}/echo.py`, echo);
    const made = await lab.register('find_orders', { args: ['echo.py'] });
    assert.equal(made.status, 201, JSON.stringify(made.body));
  });
  after(async () => {
    await lab.close();
    await llm.close();
  });

  const arrive = async (path, options) => {
    const visitor = await lab.visit(options);
    await lab.signIn(visitor);
    await visitor.open(path);
    return { ...visitor, ...partsOf(visitor.page) };
  };
  const partsOf = (page) => {
    const panel = page.getByRole('region', { name: 'Assistant', exact: true });
    return {
      panel,
      input: panel.getByRole('textbox', { name: 'Message' }),
      send: panel.getByRole('button', { name: 'Send' }),
      approve: panel.getByRole('button', { name: 'Approve' }),
      log: panel.getByRole('log', { name: 'Messages' }),
    };
  };
  const open = async (page) => {
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Control+i');
    await partsOf(page).input.waitFor();
  };

  /** The pictures of README and docs. */
  const takePictures = async (page) => {
    await page.setViewportSize({ width: 1440, height: 900 });
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      const path = `docs/operate/console/assistant-${colorScheme}.png`;
      await page.screenshot({ path, animations: 'disabled', caret: 'hide' });
    }
  };

  /** A run whose failure is planted or not, and its trace. */
  const ran = async (thread, isPlanted) => {
    const { body } = await lab.call('find_orders', ordersFound(isPlanted));
    const key = { authorization: `Bearer ${lab.adminKey}` };
    await exportRun({ url: lab.url, key }, { thread, isPlanted, executionId: body.executionId });
    const run = await until(async () => {
      const found = await lab.api('GET', `/api/v1/runs?thread_ids=${thread}`);
      return found.body.data[0];
    }, `the run of ${thread}`);
    return { execution: body.executionId, trace: run.trace_ids[0] };
  };

  const markedOf = async (tool) =>
    (await lab.api('GET', `/api/v1/tool-health/${tool}`)).body.semanticFailures;

  for (const hands of [byMouse, byKeys])
    it(`D: finds what went wrong in a trace, shows it on the page, and marks it once a person agrees, ${hands.name}`, async () => {
      const thread = `odd-${hands === byMouse ? 'mouse' : 'keys'}`;
      const { trace, execution } = await ran(thread, true);
      const { page, context, panel, input, approve, log } = await arrive('/traces');
      const { press, write, clicks } = hands.on(page);
      await press(page.getByRole('row').filter({ hasText: thread }).getByRole('link').first());
      await page.waitForURL(new RegExp(trace));
      await page.getByRole('treegrid', { name: 'Spans' }).waitFor();
      await open(page);
      await write(input, `What went wrong in thread "${thread}"?`);
      await page.keyboard.press('Enter');
      await approve.waitFor();
      for (const tool of ['fetch_spans_summary', 'get_span_content', 'analyze_with_llm', 'highlight_spans'])
        await log.getByText(tool, { exact: true }).first().waitFor();
      await page.getByText(/^\d+ highlighted spans/).waitFor();
      const before = await markedOf('find_orders');
      assert.deepEqual(await violationsOf(page, 'the panel'), []);
      await press(approve);
      await log.getByText(wentWrong.split('\n')[0]).waitFor();
      assert.equal(await markedOf('find_orders'), before + 1);
      const record = (await lab.api('GET', `/api/v1/tool-metrics/executions/${execution}`)).body;
      assert.match(record.semanticFailure, /Silent failure/);
      const chip = log
        .locator('code, a')
        .filter({ hasText: /^[0-9a-f]{16}$/ })
        .first();
      const span = await chip.innerText();
      await press(chip);
      await until(() => new URL(page.url()).searchParams.get('span') === span, 'the span of the chip');
      assert.ok(clicks() <= 3, `${clicks()} clicks`);
      await log.getByText('mark_semantic_failure').click();
      await log.getByRole('link', { name: 'Execution', exact: true }).first().waitFor();
      await panel.getByText(/gpt-4.1: \d+ steps, 6 calls, [\d,]+ of 1,000,000 tokens/).waitFor();
      if (process.env.PICTURES === 'update' && hands === byMouse) await takePictures(page);
      await context.close();
    });

  it('finds nothing where nothing was planted', async () => {
    const { trace } = await ran('sound', false);
    const before = await markedOf('find_orders');
    const { page, context, input, log } = await arrive(`/traces/${trace}`);
    await open(page);
    await input.fill('What went wrong in thread "sound"?');
    await page.keyboard.press('Enter');
    await log.getByText('Nothing went wrong.').waitFor();
    assert.equal(await page.getByText(/highlighted span/).count(), 0);
    assert.equal(await markedOf('find_orders'), before);
    await context.close();
  });

  it('makes an experiment cheaper: reads it, applies a change, runs it, compares', async () => {
    const start = Date.now() * 1_000 - 5_000_000;
    const [span, trace] = ['086e83747d0e381e', '4bf92f3577b34da6a3ce929d0e0e4736'];
    const request = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'Which flight?' }] };
    const usage = { input_tokens: 412, output_tokens: 64 };
    await lab.api('POST', '/api/v1/spans', [
      {
        ...{ trace_id: trace, span_id: span, operation_name: 'api_invoke' },
        ...{ start_time_us: start, finish_time_us: start + 2_000_000 },
        attribute: { model_name: 'gpt-4.1', request, output: 'TP 1350.', cost: 0.0021, usage },
      },
    ]);
    const { page, context, input, approve, log } = await arrive(
      `/experiments/new?span=${span}&trace=${trace}`,
    );
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
    await open(page);
    await input.fill('Make this experiment cheaper');
    await page.keyboard.press('Enter');
    await approve.click();
    await log.getByText('run_experiment', { exact: true }).waitFor();
    assert.equal(await page.getByLabel('Model', { exact: true }).inputValue(), 'gpt-4.1-mini');
    await approve.click();
    await log.getByText(/The new run used gpt-4.1-mini, its cost changed by -\d/).waitFor();
    await context.close();
  });

  it('goes on while the panel is closed, is stopped, retried, edited, copied and deleted', async () => {
    const { page, context, panel, input, log } = await arrive('/tools/find_orders/activity', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const answer = Promise.withResolvers();
    llm.answer = () => answer.promise;
    await page.getByRole('button', { name: 'Ask' }).click();
    assert.equal(await input.inputValue(), 'How is the tool `find_orders` doing?');
    const arrives = Promise.withResolvers();
    await page.route('**/turns', (route) => arrives.promise.then(() => route.continue()), { times: 1 });
    await page.keyboard.press('Enter');
    await panel.getByRole('button', { name: 'Stop' }).waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    const taken = page.waitForResponse('**/turns');
    arrives.resolve();
    await taken;
    answer.resolve('It does **well**.');
    await page.keyboard.press('Control+i');
    await log.getByText('It does well.').waitFor();
    llm.answer = () => new Promise(() => undefined);
    await input.fill('And now?');
    await page.keyboard.press('Enter');
    await panel.getByRole('button', { name: 'Stop' }).click();
    await log.getByText('You stopped this turn.').waitFor();
    llm.answer = () => 'As before.';
    await log.getByRole('button', { name: 'Retry' }).click();
    await log.getByText('As before.').waitFor();
    await log.getByRole('button', { name: 'Edit' }).last().click();
    assert.equal(await input.inputValue(), 'And now?');
    await input.fill('And then?');
    await panel.getByRole('button', { name: 'Send instead' }).click();
    await until(async () => (await log.getByText('And now?').count()) === 0, 'the old message to go');
    await log.getByText('As before.').waitFor();
    await panel.getByRole('button', { name: 'Copy all' }).click();
    const copied = await page.evaluate(() => window.navigator.clipboard.readText());
    assert.match(copied, /^## Question\n\nHow is the tool [^]*## Answer\n\nIt does \*\*well\*\*/);
    await page.reload();
    await open(page);
    await log.getByText('As before.').waitFor();
    await panel.getByRole('button', { name: 'Chats' }).click();
    assert.deepEqual(await violationsOf(page, 'the chats'), []);
    await panel.getByRole('button', { name: 'Delete How is the tool `find_orders` doing?' }).click();
    await until(async () => {
      const { body } = await lab.api('GET', '/api/v1/assistant/chats');
      return !body.data.some(({ title }) => title.startsWith('How is'));
    }, 'the chat to be deleted');
    await context.close();
  });

  it('shows hostile texts as texts, loads no picture, and fits 320 pixels', async () => {
    llm.answer = ({ body }) =>
      body.messages.at(-1).role === 'tool'
        ? `${hostile}\n\n[elsewhere](https://evil.test/) [here](/console/tools) http://256.256.256.256/ [port](https://host:99999/x)`
        : calling('find_orders', { text: hostile });
    const { page, context, problems, input, approve, log } = await arrive('/tools', {
      viewport: { width: 320, height: 640 },
      colorScheme: 'dark',
    });
    await open(page);
    await input.fill('Show me');
    await page.keyboard.press('Enter');
    await approve.click();
    await log.getByText('[picture: pixel]').waitFor();
    const link = log.getByRole('link', { name: /elsewhere/ });
    assert.equal(await link.getAttribute('rel'), 'noopener noreferrer');
    await log.getByText('(evil.test)').waitFor();
    assert.equal(await log.getByRole('link', { name: 'go' }).count(), 0);
    assert.equal(await page.evaluate(() => window.caught), undefined);
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    assert.ok(overflow <= 0, `${overflow} px too wide`);
    assert.equal(await log.getByRole('link', { name: /256|port/ }).count(), 0);
    assert.deepEqual(await violationsOf(page, 'the panel at 320 pixels'), []);
    llm.answer = () => '>'.repeat(20_000);
    await input.fill('Deeper');
    await page.keyboard.press('Enter');
    await log.getByText('>>>>').waitFor();
    assert.deepEqual(problems, []);
    await log.getByRole('link', { name: 'here', exact: true }).click();
    await context.close();
  });

  it('left no error behind', () => lab.assertQuiet());
});

describe('the assistant without a language model', () => {
  it('names the variables, and needs a key', async () => {
    const lab = await openLab();
    try {
      const visitor = await lab.visit({ known: [/401/] });
      const { page, open } = visitor;
      await open('/tools');
      await page.getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
      await page.keyboard.press('Control+i');
      const panel = page.getByRole('region', { name: 'Assistant', exact: true });
      await panel.getByText('The assistant needs a key').waitFor();
      await lab.signIn(visitor);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.keyboard.press('Control+i');
      await page.getByRole('heading', { name: 'No language model is configured' }).waitFor();
      for (const name of ['LLM_BASE_URL', 'LLM_MODEL', 'LLM_API_KEY']) await page.getByText(name).waitFor();
      lab.assertQuiet();
    } finally {
      await lab.close();
    }
  });
});
