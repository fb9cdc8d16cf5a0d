import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { violationsOf } from './axe.mjs';
import { openLab, until } from './lab.mjs';

const { startLlmServer } = await import('../support/llm-endpoint.ts');
const { startAskingServer } = await import('../support/asking-modern-server.ts');
const { calling } = await import('../support/assistant.ts');

// real: the built server, MCP servers of the official library that ask, Chromium; scripted: the assistant's model

const root = join(import.meta.dirname, '..', '..');
const [library, fixtures] = [join(root, 'node_modules'), join(root, 'test', 'fixtures', 'tools')];

describe('questions of tools', () => {
  let lab;
  let visitor;
  let llm;
  let rounds;
  before(async () => {
    rounds = await startAskingServer();
    llm = await startLlmServer(({ body: { messages } }) =>
      messages.at(-1).role === 'user' ? calling('asking__order', { item: 'tea' }) : 'It is ordered.',
    );
    lab = await openLab({
      LLM_BASE_URL: llm.url,
      LLM_MODEL: 'gpt-4.1',
      SANDBOX_GRANTABLE_PATHS: `${library}:${fixtures}`,
    });
    const { status, body } = await lab.api('POST', '/api/v1/custom-tools', {
      name: 'asking',
      protocol: 'mcp',
      command: 'node',
      args: [join(fixtures, 'asking-server.mjs')],
      sandbox: { allowedPaths: [library] },
    });
    assert.equal(status, 201, JSON.stringify(body));
    // An asynchronous execution has no record while it asks.
    visitor = await lab.visit({ known: [/404 .*\/tool-metrics\/executions\//] });
    await lab.signIn(visitor);
  });
  after(async () => {
    lab.assertQuiet();
    await lab.close();
    await llm.close();
    await rounds.stop();
  });

  const question = () => visitor.page.getByRole('form', { name: 'Question of the tool' });
  const run = () => visitor.page.getByRole('button', { name: 'Run', exact: true }).click();
  const endOf = async (tool) => {
    const { body } = await lab.api('GET', `/api/v1/tool-metrics/executions?tool=${tool}`);
    return body.data.map(({ status }) => status);
  };

  it('are a form, whose answer ends the call in success', async () => {
    const { page, open } = visitor;
    await open('/tools/asking__order/try');
    await page.getByLabel('item').fill('tea');
    await run();
    await question().getByText('How many of tea?').waitFor();
    assert.deepEqual(await violationsOf(page, 'question'), []);
    await question().getByLabel('Amount').fill('3');
    await question().getByRole('button', { name: 'Send answer' }).click();
    await page
      .getByText(/"amount\\?":\s*3/)
      .first()
      .waitFor();
    await question().waitFor({ state: 'detached' });
    assert.deepEqual(await endOf('asking__order'), ['success']);
  });

  it('are declined, and the tool is told so', async () => {
    const { page } = visitor;
    await run();
    await question().getByRole('button', { name: 'Decline' }).click();
    await page
      .getByText(/decline/)
      .first()
      .waitFor();
    await question().waitFor({ state: 'detached' });
  });

  it('come one after another', async () => {
    const { page, open } = visitor;
    await open('/tools/asking__twice/try');
    await run();
    for (const [message, amount] of [
      ['First?', '4'],
      ['Second?', '5'],
    ]) {
      await question().getByText(message).waitFor();
      await question().getByLabel('Amount').fill(amount);
      await question().getByRole('button', { name: 'Send answer' }).click();
    }
    await page
      .getByText(/"amount\\?":\s*5/)
      .first()
      .waitFor();
    assert.deepEqual(await endOf('asking__twice'), ['success']);
  });

  it('that ask to open an address show all of it', async () => {
    const { page, open } = visitor;
    await open('/tools/asking__sign_in/try');
    await run();
    const link = question().getByRole('link', { name: 'https://example.com/in' });
    assert.equal(await link.getAttribute('href'), 'https://example.com/in');
    await question().getByRole('button', { name: 'I have opened it' }).click();
    await page
      .getByText(/accept/)
      .first()
      .waitFor();
    assert.deepEqual(await endOf('asking__sign_in'), ['success']);
  });

  it('are a form on the page of an asynchronous execution, which goes on with the answer', async () => {
    const { page, open } = visitor;
    const server = { name: 'rounds', protocol: 'mcp', url: rounds.url };
    assert.equal((await lab.api('POST', '/api/v1/custom-tools', server)).status, 201);
    const reply = await fetch(`${lab.url}/api/v1/tools/rounds__order/execute`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${lab.adminKey}`,
        'content-type': 'application/json',
        prefer: 'respond-async',
      },
      body: JSON.stringify({ input: { item: 'coffee' }, elicitation: { form: {} } }),
    });
    const { id } = await reply.json();
    await until(
      async () => (await lab.api('GET', `/api/v1/executions/${id}`)).body.status === 'input_required',
      'its question',
    );
    await open(`/executions/${id}`);
    await question().getByText('How many of coffee?').waitFor();
    assert.deepEqual(await violationsOf(page, 'question of an asynchronous execution'), []);
    await question().getByLabel('amount').fill('9');
    await question().getByRole('button', { name: 'Send answer' }).click();
    await question().waitFor({ state: 'detached' });
    const { outcome } = await until(async () => {
      const { body } = await lab.api('GET', `/api/v1/executions/${id}`);
      return body.endedAt && body;
    }, 'its end');
    assert.match(JSON.stringify(outcome.result), /amount[^}]*9/);
    await page.getByRole('link', { name: outcome.executionId }).click();
    await page.getByRole('heading', { level: 1, name: 'Execution of rounds__order' }).waitFor();
  });

  it("are a form in the assistant's card of the call", async () => {
    const { page, open } = visitor;
    await open('/tools');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Control+i');
    const panel = page.getByRole('region', { name: 'Assistant', exact: true });
    await panel.getByRole('textbox', { name: 'Message' }).fill('Order tea');
    await panel.getByRole('button', { name: 'Send' }).click();
    await panel.getByRole('button', { name: 'Approve' }).click();
    const form = panel.getByRole('form', { name: 'Question of the tool' });
    await form.getByText('How many of tea?').waitFor();
    assert.deepEqual(await violationsOf(page, 'question in the assistant'), []);
    await form.getByLabel('Amount').fill('7');
    await form.getByRole('button', { name: 'Send answer' }).click();
    await panel.getByText('It is ordered.').waitFor();
    assert.equal(await form.count(), 0);
    const [told] = llm.asked.slice(-1);
    assert.match(JSON.stringify(told.body.messages.at(-1)), /amount[^}]*7/);
  });
});
