import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { violationsOf } from './axe.mjs';
import { openLab, until } from './lab.mjs';

const { startLlmServer } = await import('../support/llm-endpoint.ts');

// real: the built server with its own PostgreSQL, Chromium, agents over HTTP; scripted: the model's answers

const [span, parent, trace] = ['086e83747d0e381e', '00f067aa0ba902b7', '4bf92f3577b34da6a3ce929d0e0e4736'];

/** A run of an agent with a call of a model. */
const spans = () => {
  const start = Date.now() * 1_000 - 5_000_000;
  const shared = { trace_id: trace, start_time_us: start, finish_time_us: start + 2_000_000 };
  const request = {
    model: 'gpt-4.1',
    temperature: 0.7,
    messages: [{ role: 'user', content: 'Which flight?' }],
  };
  const usage = { input_tokens: 412, output_tokens: 64 };
  return [
    { ...shared, span_id: parent, operation_name: 'run', attribute: { label: 'flights' } },
    {
      ...{ ...shared, span_id: span, parent_span_id: parent, operation_name: 'api_invoke' },
      attribute: {
        model_name: 'gpt-4.1',
        request,
        output: 'TP 1350.',
        cost: 0.0021,
        usage,
        label: 'flights',
      },
    },
  ];
};

describe('tools that the page answers', () => {
  let lab;
  let llm;
  before(async () => {
    llm = await startLlmServer(({ body }) => `FR 8342, says ${body.model}.`);
    lab = await openLab({ LLM_BASE_URL: llm.url, LLM_MODEL: 'usual-1' });
    await lab.api('POST', '/api/v1/spans', spans());
  });
  after(async () => {
    await lab.close();
    await llm.close();
  });

  const sessionOf = (page) =>
    page.evaluate(() => JSON.parse(window.sessionStorage.getItem('toolkeeper.ui'))?.session);
  /** A signed-in page that records its events, and the agent of the same caller. */
  const arrive = async (path, options) => {
    const visitor = await lab.visit(options);
    await visitor.page.addInitScript(() => {
      window.heard = [];
      for (const name of ['get_collapsed_spans', 'collapsed_spans_response', 'navigate_to', 'run_experiment'])
        window.addEventListener(`vllora_${name}`, ({ type, detail }) => window.heard.push([type, detail]));
    });
    await lab.signIn(visitor);
    await visitor.open(path);
    const { page } = visitor;
    const uiSession = await until(() => sessionOf(page), 'the session');
    const call = (tool, input = {}) => lab.call(tool, input, { uiSession });
    /** Waits for the page to be reported. */
    const result = async (tool, input) => {
      const { body } = await until(async () => {
        const answer = await call(tool, input);
        return answer.status === 200 && answer;
      }, `an answer of ${tool}`);
      assert.equal(body.status, 'success', JSON.stringify(body));
      return body.result;
    };
    return { visitor, page, uiSession, call, result };
  };
  const addressOf = (page) => new URL(page.url()).pathname.replace('/console', '');

  it('an agent asks what the page shows and opens another screen, and the user goes back', async () => {
    const { visitor, page, result } = await arrive('/tools');
    const before = await result('get_current_page');
    assert.deepEqual([before.url, before.title, before.screen], ['/tools', 'Tools', '/tools']);
    const opened = await result('navigate_to', { url: `/console/traces/${trace}?span=${span}` });
    assert.equal(opened.success && opened.navigated, true);
    assert.deepEqual([opened.context.screen, opened.context.params], ['/traces/$id', { id: trace }]);
    assert.equal(addressOf(page), `/traces/${trace}`);
    await page.getByRole('status').filter({ hasText: 'An agent opened' }).waitFor();
    await page.getByRole('button', { name: 'Back to /tools' }).click();
    await page.getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
    await visitor.context.close();
  });

  it('it opens nothing but screens of the console', async () => {
    const { visitor, page, call, result } = await arrive('/tools');
    const { success, nearest } = await result('navigate_to', { url: '/trace' });
    assert.deepEqual([success, nearest.length, nearest[0]], [false, 3, '/traces']);
    for (const url of ['//evil.test/', '/\\evil.test', 'https://evil.test/', 'javascript:alert(1)']) {
      const { body } = await call('navigate_to', { url });
      assert.equal(body.error?.type, 'tool_error', url);
    }
    assert.equal(addressOf(page), '/tools');
    await visitor.context.close();
  });

  it('it sees what is collapsed in a trace, highlights spans and filters by a label', async () => {
    const { visitor, page, call, result } = await arrive('/tools');
    const refused = await call('get_collapsed_spans');
    assert.deepEqual([refused.status, refused.body.code], [409, 'ui_not_available']);
    await result('navigate_to', { url: `/traces/${trace}?collapsed=${parent}` });
    assert.deepEqual(await result('get_collapsed_spans'), { collapsedSpanIds: [parent] });
    const note = 'The model <b>answers</b> from memory';
    const marked = await result('highlight_spans', { spanIds: [span, 'ffffffffffffffff'], note });
    assert.deepEqual(marked, { success: true, highlighted: 1, notFound: ['ffffffffffffffff'] });
    await page.getByText(note).waitFor();
    assert.deepEqual(await result('get_collapsed_spans'), { collapsedSpanIds: [] });
    await result('apply_label_filter', { labels: ['flights'], view: 'traces' });
    assert.deepEqual(
      [addressOf(page), new URL(page.url()).searchParams.get('labels')],
      ['/traces', 'flights'],
    );
    await result('apply_label_filter', { action: 'clear' });
    assert.equal(new URL(page.url()).searchParams.get('labels'), null);

    const heard = await page.evaluate(() => window.heard);
    const [request, response] = heard.filter(([type]) => type.includes('collapsed'));
    assert.deepEqual(
      [request[0], response[0]],
      ['vllora_get_collapsed_spans', 'vllora_collapsed_spans_response'],
    );
    assert.equal(request[1].callId, response[1].callId);
    assert.deepEqual(response[1].collapsedSpanIds, [parent]);
    await visitor.context.close();
  });

  it('it reads an experiment, changes it, runs it and evaluates the result', async () => {
    const { visitor, page, result } = await arrive('/');
    assert.equal((await result('navigate_to_experiment', { spanId: span, traceId: trace })).success, true);
    const { experimentData, originalExperimentData, result: none } = await result('get_experiment_data');
    assert.deepEqual(
      [experimentData.model, originalExperimentData.model, none],
      ['gpt-4.1', 'gpt-4.1', null],
    );
    const messages = [{ role: 'user', content: 'Which flight is the cheapest?' }];
    await result('apply_experiment_data', { data: { model: 'gpt-4.1-mini', messages } });
    const changed = (await result('get_experiment_data')).experimentData;
    assert.deepEqual([changed.model, changed.temperature, changed.messages], ['gpt-4.1-mini', 0.7, messages]);
    const ran = await result('run_experiment');
    assert.equal(ran.result.output, 'FR 8342, says gpt-4.1-mini.');
    assert.deepEqual([llm.asked.length, llm.asked[0].body.messages], [1, messages]);
    assert.equal(addressOf(page), `/experiments/${ran.experimentId}`);
    const { hasResults, original, new: now, comparison } = await result('evaluate_experiment_results');
    assert.deepEqual([hasResults, original.model, now.output], [true, 'gpt-4.1', ran.result.output]);
    assert.equal(typeof comparison.total_tokens_change_percent, 'number');
    await visitor.context.close();
  });

  it('says which span no experiment can start from', async () => {
    const { visitor, result } = await arrive('/', { known: [/400/] });
    const { success, error } = await result('navigate_to_experiment', { spanId: parent });
    assert.deepEqual([success, error], [false, 'No experiment can start from this span: the page says why']);
    await visitor.context.close();
  });

  it('a page that is loaded anew in mid-call runs nothing twice, and goes on', async () => {
    const { visitor, page, call, result } = await arrive(`/experiments/new?span=${span}&trace=${trace}`);
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
    await result('get_experiment_data');
    const script = llm.answer;
    llm.answer = () => new Promise(() => {});
    const asked = llm.asked.length;
    const running = call('run_experiment');
    await until(() => llm.asked.length > asked, 'the run');
    await page.reload();
    const { body } = await running;
    assert.deepEqual([body.status, body.error.type], ['error', 'interrupted']);
    assert.equal(llm.asked.length, asked + 1);
    llm.answer = script;
    assert.equal((await result('get_current_page')).screen, '/experiments/$id');
    await visitor.context.close();
  });

  it('another key acts on the page while its user agrees, and leaves a trail', async () => {
    const { visitor, page, uiSession } = await arrive('/tools');
    const { body } = await lab.api('POST', '/api/v1/keys', { name: '<i>agent</i>', scopes: ['tools:call'] });
    const call = async (tool, input = {}) => {
      const reply = await fetch(`${lab.url}/api/v1/tools/${tool}/execute`, {
        method: 'POST',
        headers: { authorization: `Bearer ${body.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ input, context: { uiSession } }),
      });
      return { status: reply.status, body: await reply.json() };
    };
    assert.equal((await call('get_current_page')).body.code, 'ui_not_granted');
    const banner = page.getByRole('alert').filter({ hasText: 'asks to act on this page' });
    await banner.getByText('<i>agent</i>').waitFor();
    await banner.getByText(body.id).waitFor();
    const found = [];
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      found.push(...(await violationsOf(page, `the banner at ${width}`)));
    }
    await banner.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('with your rights until').waitFor();
    assert.equal((await call('get_current_page')).body.result.url, '/tools');
    assert.equal((await call('navigate_to', { url: '/playbooks' })).body.result.navigated, true);
    await page.getByText('1 earlier').click();
    await page.getByText('called get_current_page').waitFor();
    for (const width of [390, 1_280]) {
      await page.setViewportSize({ width, height: 800 });
      found.push(...(await violationsOf(page, `the trail at ${width}`)));
    }
    assert.deepEqual(found, []);
    await page.getByRole('button', { name: 'Back to /tools' }).click();
    await page.waitForURL('**/console/tools');
    await page.getByRole('button', { name: 'End' }).click();
    await page.getByText('with your rights until').waitFor({ state: 'detached' });
    assert.equal((await call('navigate_to', { url: '/' })).body.code, 'ui_not_granted');
    assert.equal(addressOf(page), '/tools');
    await visitor.context.close();
  });

  it('a tab that was duplicated has a session of its own', async () => {
    const { visitor, page, uiSession, result } = await arrive('/tools');
    const kept = await page.evaluate(() => JSON.stringify(Object.entries(window.sessionStorage)));
    const twin = await visitor.context.newPage();
    await twin.addInitScript((text) => {
      if (window.sessionStorage.length === 0)
        for (const [name, value] of JSON.parse(text)) window.sessionStorage.setItem(name, value);
    }, kept);
    await twin.goto(`${lab.url}/console/playbooks`);
    await until(async () => ![undefined, uiSession].includes(await sessionOf(page)), 'another session');
    assert.equal(await sessionOf(twin), uiSession);
    assert.equal((await result('get_current_page')).url, '/playbooks');
    await visitor.context.close();
  });

  it('a page whose session has ended says so at the next act, and is reached again after the sign-in', async () => {
    const { visitor, page, uiSession } = await arrive('/settings/keys', { known: [/401/] });
    await page.evaluate(() => window.sessionStorage.setItem('toolkeeper.session', 'of another'));
    await page.getByRole('link', { name: 'Audit' }).click();
    await until(async () => (await sessionOf(page)) !== uiSession, 'the refused report');
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'Make a key' }).click();
    await page.getByLabel('Name').fill('another agent');
    await page.getByRole('button', { name: 'Make key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('API key').fill(lab.adminKey);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('It is shown only once').waitFor();
    const renewed = await until(() => sessionOf(page), 'the new session');
    const { body } = await lab.call('get_current_page', {}, { uiSession: renewed });
    assert.equal(body.result.screen, '/settings/keys');
    await visitor.context.close();
  });

  it('nothing went wrong in any page, and none asked anybody else', () => lab.assertQuiet());
});
