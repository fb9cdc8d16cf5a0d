import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { violationsOf } from './axe.mjs';
import { openLab } from './lab.mjs';

// real: the built server, an MCP server of the official library that asks, Chromium; mock: nothing

const root = join(import.meta.dirname, '..', '..');
const [library, fixtures] = [join(root, 'node_modules'), join(root, 'test', 'fixtures', 'tools')];

describe('questions of tools', () => {
  let lab;
  let visitor;
  before(async () => {
    lab = await openLab({ SANDBOX_GRANTABLE_PATHS: `${library}:${fixtures}` });
    const { status, body } = await lab.api('POST', '/api/v1/custom-tools', {
      name: 'asking',
      protocol: 'mcp',
      command: 'node',
      args: [join(fixtures, 'asking-server.mjs')],
      sandbox: { allowedPaths: [library] },
    });
    assert.equal(status, 201, JSON.stringify(body));
    visitor = await lab.visit();
    await lab.signIn(visitor);
  });
  after(async () => {
    lab.assertQuiet();
    await lab.close();
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
});
