import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { violationsOf } from './axe.mjs';
import { openLab, until } from './lab.mjs';

const { refuse, startLlmServer } = await import('../support/llm-endpoint.ts');

// real: the built server with its own PostgreSQL, Chromium, HTTP to the model's endpoint; scripted: the model's answers

const [span, trace] = ['086e83747d0e381e', '4bf92f3577b34da6a3ce929d0e0e4736'];
const place = `/experiments/new?span=${span}&trace=${trace}`;

/** The call of a model that an agent has sent: its answer has markup, and its messages a call of a tool. */
const modelCall = () => {
  const start = Date.now() * 1_000 - 5_000_000;
  const calls = [{ id: 'c1', type: 'function', function: { name: 'search', arguments: '{}' } }];
  return {
    ...{ trace_id: trace, span_id: span, operation_name: 'api_invoke' },
    ...{ start_time_us: start, finish_time_us: start + 2_000_000 },
    attribute: {
      model_name: 'gpt-4.1',
      request: {
        ...{ model: 'gpt-4.1', temperature: 0.7, seed: 9007199254740991 },
        messages: [
          { role: 'system', content: 'You are a travel agent.' },
          { role: 'user', content: 'Which flight to Lisbon is the cheapest?' },
          { role: 'assistant', content: null, tool_calls: calls },
          { role: 'tool', tool_call_id: 'c1', content: '[]' },
        ],
      },
      output: 'The flights:\n<img src=x onerror="throw 1">\nThe cheapest is TP 1350.',
      cost: 0.0021,
      usage: { input_tokens: 412, output_tokens: 64 },
    },
  };
};

const parts = (page) => ({
  run: page.getByRole('button', { name: 'Run', exact: true }),
  model: page.getByLabel('Model', { exact: true }),
  question: page.getByRole('textbox', { name: 'Message 2' }),
  runs: page.getByRole('table', { name: 'Runs' }).getByRole('row'),
  difference: page.getByRole('region', { name: 'Difference of the answers' }),
  title: page.getByRole('heading', { level: 1 }),
});

describe('experiments', () => {
  let lab;
  let llm;
  before(async () => {
    llm = await startLlmServer(({ body }) => `The flights:\nThe cheapest is FR 8342, says ${body.model}.`);
    lab = await openLab({ LLM_BASE_URL: llm.url, LLM_MODEL: 'usual-1' });
    assert.deepEqual((await lab.api('POST', '/api/v1/spans', [modelCall()])).body, { taken: 1, rejected: 0 });
  });
  after(async () => {
    await lab.close();
    await llm.close();
  });

  const idOf = (page) => new URL(page.url()).pathname.split('/').at(-1);
  const arrive = async (path, options) => {
    const visitor = await lab.visit(options);
    await lab.signIn(visitor);
    await visitor.open(path);
    return { visitor, page: visitor.page, ...parts(visitor.page) };
  };

  it('a model call is repeated with a variable and another model, and its runs are compared', async () => {
    const { visitor, page, run, model, question, runs, difference, title } = await arrive(
      `/traces/${trace}?span=${span}`,
    );
    await page.getByRole('link', { name: 'New experiment' }).click();
    await page.waitForURL(`**/console${place}`);
    await page.getByRole('row', { name: 'Original gpt-4.1 $0.0021 476 2 s' }).waitFor();
    assert.equal(await model.inputValue(), 'gpt-4.1');
    await question.fill('Which flight to {{city}} is the cheapest?');
    await page.getByLabel('city').fill('Porto');
    await model.fill('gpt-4.1-mini');
    await page.getByLabel('Headers').fill('x-team');
    await page.getByText('Write each header as name: value.').waitFor();
    assert.equal(await run.isDisabled(), true);
    await page.getByLabel('Headers').fill('x-team: {{city}}');
    await page.reload();
    assert.equal(await page.getByLabel('city').inputValue(), 'Porto');
    await run.click();
    await difference.getByText('says gpt-4.1-mini').waitFor();
    assert.equal(await title.innerText(), 'Run 1, gpt-4.1-mini');
    const [asked] = llm.asked;
    const messages = asked.body.messages.map(({ content }) => content);
    assert.equal(messages[1], 'Which flight to Porto is the cheapest?');
    assert.equal(asked.body.messages[2].tool_calls[0].id, 'c1');
    assert.deepEqual([asked.body.model, asked.body.seed], ['gpt-4.1-mini', 9007199254740991]);
    assert.equal(asked.headers['x-team'], 'Porto');
    assert.equal(await page.getByLabel('Headers').inputValue(), 'x-team: {{city}}');

    const { comparison } = (await lab.api('GET', `/api/v1/experiments/${idOf(page)}/evaluation`)).body;
    const row = await runs.nth(2).innerText();
    for (const percent of [comparison.cost_change_percent, comparison.total_tokens_change_percent])
      assert.match(row, new RegExp(`${percent.toFixed(1)} %`));
    await difference.getByText('<img src=x onerror="throw 1">').waitFor();

    await page.getByLabel('Name of the next run').fill('Cheaper still');
    await model.fill('gpt-4.1-nano');
    await page.getByRole('textbox', { name: 'Parameters' }).click();
    await page.keyboard.press('Control+Enter');
    await difference.getByText('says gpt-4.1-nano').waitFor();
    assert.equal(await title.innerText(), 'Cheaper still');
    assert.deepEqual([llm.asked.length, llm.asked[1].body.temperature], [2, 0.7]);
    await until(async () => (await runs.count()) === 4, 'the original and both runs');
    await page.getByRole('combobox', { name: 'Compare with' }).click();
    await page.getByRole('option', { name: 'Run 1, gpt-4.1-mini' }).click();
    await difference.getByText('says gpt-4.1-mini').waitFor();
    await page.reload();
    await difference.getByText('says gpt-4.1-mini').waitFor();
    await page.getByRole('tab', { name: 'Answers' }).click();
    for (const name of ['Original', 'Cheaper still', 'Run 1, gpt-4.1-mini'])
      await page.getByLabel(`Answer of ${name}`).waitFor();
    await runs.nth(3).getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: 'Run 1, gpt-4.1-mini' }).waitFor();
    assert.equal(await model.inputValue(), 'gpt-4.1-mini');
    await visitor.context.close();
  });

  it('the history has every run, and one is deleted after a question', async () => {
    const { visitor, page } = await arrive('/experiments');
    const row = page.getByRole('row', { name: new RegExp(`Cheaper still completed ${span}`) });
    await row.getByRole('link').click();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('row', { name: /Run 1, gpt-4.1-mini completed/ }).waitFor();
    await row.waitFor({ state: 'detached' });
    await visitor.context.close();
  });

  it('a request of its own runs without a comparison; a failed run says why, and runs again as it is', async () => {
    const { visitor, page, run, model } = await arrive('/experiments');
    await page.getByRole('link', { name: 'New experiment' }).click();
    await page.getByRole('textbox', { name: 'Message 1' }).fill('Hello');
    const script = llm.answer;
    llm.answer = (_, response) => refuse(response, 400, 'no such model');
    await run.click();
    await page.getByText(/The language model gave no answer: .*no such model/).waitFor();
    const id = idOf(page);
    llm.answer = script;
    await run.click();
    await page.getByLabel(/Answer of Run \d, default model/).waitFor();
    assert.equal(idOf(page), id);
    assert.deepEqual([llm.asked.at(-1).body.model, await model.inputValue()], ['usual-1', '']);
    await page.getByRole('button', { name: 'Add message' }).click();
    await page.getByRole('button', { name: 'Discard changes' }).click();
    assert.equal(await page.getByRole('textbox', { name: 'Message 2' }).count(), 0);
    await visitor.context.close();
  });

  it('a run goes on over a reload, and is cancelled', async () => {
    const { visitor, page, run, model } = await arrive(place);
    const script = llm.answer;
    const left = Promise.withResolvers();
    llm.answer = (_, response) => {
      void once(response, 'close').then(left.resolve);
      return new Promise(() => {});
    };
    const asked = llm.asked.length;
    await model.fill('slow-1');
    await run.click();
    await until(() => llm.asked.length > asked, 'the request');
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    await page.waitForURL(/experiments\/[\w-]{36}/);
    await page.reload();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('The run was cancelled').waitFor();
    await left.promise;
    llm.answer = script;
    await visitor.context.close();
  });

  it('a key without the scope experiments:write reads, and runs nothing', async () => {
    const { body } = await lab.api('POST', '/api/v1/keys', { name: 'reader', scopes: ['traces:read'] });
    const visitor = await lab.visit({ known: [/403/] });
    const { page } = visitor;
    await lab.signIn(visitor, body.key);
    await visitor.open('/experiments');
    await page.getByRole('link', { name: 'Run 1, gpt-4.1-mini' }).click();
    await parts(page).difference.waitFor();
    assert.equal(await parts(page).run.isDisabled(), true);
    assert.equal(await page.getByRole('button', { name: 'More actions' }).count(), 0);
    await visitor.context.close();
  });

  for (const colorScheme of ['light', 'dark'])
    it(`the screens are accessible in the ${colorScheme} theme, wide and narrow`, async () => {
      const { visitor, page, difference } = await arrive('/experiments', { colorScheme });
      const found = [];
      const look = async (where) => {
        for (const width of [1_280, 390]) {
          await page.setViewportSize({ width, height: 800 });
          found.push(...(await violationsOf(page, `${where} at ${width}`)));
        }
        await page.setViewportSize({ width: 1_280, height: 800 });
      };
      await page.getByRole('table', { name: 'Experiments' }).waitFor();
      await look('the list');
      await page.getByRole('link', { name: 'Run 1, gpt-4.1-mini' }).click();
      await difference.waitFor();
      await look('a run');
      await page.getByRole('tab', { name: 'Answers' }).click();
      await look('answers');
      await visitor.open(place);
      await page.getByLabel('Answer of Original').waitFor();
      await page.getByRole('textbox', { name: 'Parameters' }).fill('{');
      await page.getByText('must be a JSON object').waitFor();
      await look('a new experiment');
      assert.deepEqual(found, []);
      await visitor.context.close();
    });

  it('without a language model the missing settings are named, and the history can be read', async () => {
    const bare = await openLab();
    await bare.api('POST', '/api/v1/spans', [modelCall()]);
    await bare.api('POST', '/api/v1/experiments', { name: 'Kept', original_span_id: span });
    const visitor = await bare.visit();
    const { page } = visitor;
    await bare.signIn(visitor);
    await visitor.open('/experiments');
    await page.getByText('LLM_BASE_URL', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Kept' }).click();
    await page.getByText('LLM_MODEL', { exact: true }).waitFor();
    await page.getByLabel('Answer of Original').waitFor();
    assert.equal(await parts(page).run.isDisabled(), true);
    bare.assertQuiet();
    await bare.close();
  });

  it('nothing went wrong in any page, and none asked anybody else', () => lab.assertQuiet());
});
