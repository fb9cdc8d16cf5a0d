import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { violationsOf } from './axe.mjs';
import { choose } from './hands.mjs';
import { openLab, until } from './lab.mjs';

const { startLlmServer } = await import('../support/llm-endpoint.ts');

// real: the built server with its own PostgreSQL, a tool's process, Chromium, axe; scripted: the model's answers

const projects = ['billing', 'support'];
const otherOf = (project) => projects.find((each) => each !== project);
const investigations = ['inc-41', 'inc-42', 'inc-43', 'inc-44'];
const traceOf = (n) => `4bf92f3577b34da6a3ce929d0e0e473${n}`;
/** Acts of this file that were asserted in both projects. */
let acts = 0;

describe('two projects with equal ids', () => {
  let lab;
  let llm;
  let visitor;
  let page;
  /** Ids of executions by project. */
  const executions = { billing: [], support: [] };

  const inProject = async (project, method, path, body, headers = {}) => {
    const reply = await fetch(lab.url + path, {
      method,
      headers: {
        authorization: `Bearer ${lab.adminKey}`,
        'x-project-id': project,
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return reply.status === 204 ? undefined : reply.json();
  };
  /** @returns what was read of the act's own project and of the other one, which must be as before */
  const act = async (project, read, perform) => {
    const other = await read(otherOf(project));
    const own = await read(project);
    await perform();
    await until(async () => JSON.stringify(await read(project)) !== JSON.stringify(own), 'the act');
    assert.deepEqual(await read(otherOf(project)), other);
    acts += 1;
    return read(project);
  };
  const confirm = async (title, button, reason) => {
    const asked = page.getByRole('dialog', { name: title, exact: true });
    if (reason) await asked.getByLabel('Reason').fill(reason);
    await asked.getByRole('button', { name: button, exact: true }).click();
    await asked.waitFor({ state: 'detached' });
  };
  const rowOf = (...texts) =>
    texts.reduce(
      (row, text) => row.filter({ has: page.getByText(text, { exact: true }) }),
      page.getByRole('row'),
    );
  const projectInAddress = (of = page) => new URL(of.url()).searchParams.get('project');

  before(async () => {
    llm = await startLlmServer(() => 'fine');
    lab = await openLab({ LLM_BASE_URL: llm.url, LLM_MODEL: 'usual-1' });
    await lab.register('word_count', { capture: 'all' });
    const call = (project, context, headers) =>
      inProject(
        project,
        'POST',
        '/api/v1/tools/word_count/execute',
        { input: { text: 'one two' }, context },
        headers,
      );
    for (const project of projects) {
      for (const investigationId of investigations) await call(project, { investigationId });
      const startUs = Date.now() * 1_000 - 60_000_000;
      for (const n of [1, 2, 3]) {
        const { executionId } = await call(
          project,
          {},
          { traceparent: `00-${traceOf(n)}-00f067aa0ba902b7-01` },
        );
        executions[project].push(executionId);
        const spans = [
          {
            ...{ trace_id: traceOf(n), span_id: '00f067aa0ba902b7', operation_name: `agent of ${project}` },
            ...{ run_id: `run-${n}`, thread_id: 'thread-1' },
            ...{ start_time_us: startUs, finish_time_us: Date.now() * 1_000 },
            attribute: { model_name: 'usual-1', output: `an answer of ${project}` },
          },
        ];
        assert.equal((await inProject(project, 'POST', '/api/v1/spans', spans)).taken, 1);
      }
      for (const name of ['Trial A', 'Trial B', 'Trial C'])
        await inProject(project, 'POST', '/api/v1/experiments', {
          name,
          original_request: { messages: [{ role: 'user', content: project }] },
          modified_request: { messages: [{ role: 'user', content: project }] },
        });
    }
    visitor = await lab.visit();
    ({ page } = visitor);
    page.setDefaultTimeout(10_000);
    await lab.signIn(visitor);
  });
  after(async () => {
    await lab.close();
    await llm.close();
  });

  for (const project of projects)
    it(`budgets are set and reset in ${project}`, async () => {
      for (const id of investigations) {
        const read = async (of) => {
          const { tools, code } = await inProject(of, 'GET', `/api/v1/investigations/${id}`);
          return { tools, code };
        };
        await visitor.open('/investigations');
        await rowOf(id, project).getByRole('link', { name: id }).click();
        await page.getByRole('heading', { level: 1, name: id }).waitFor();
        assert.equal(projectInAddress(), project);
        const raised = await act(project, read, async () => {
          await page.getByRole('button', { name: 'Set limits' }).click();
          await page.getByLabel('Calls of word_count').fill('7');
          await confirm(`Set the limits of ${id} in project ${project}`, 'Set limits', 'it needs more');
        });
        assert.equal(raised.tools[0].limit, 7);
        const forgotten = await act(project, read, async () => {
          await page.getByRole('button', { name: 'Reset budget' }).click();
          await confirm(`Reset the budget of ${id} in project ${project}?`, 'Reset budget', 'it was a test');
        });
        assert.equal(forgotten.code, 'not_found');
      }
    });

  for (const project of projects)
    it(`executions are marked in the traces of ${project}, and the marks removed`, async () => {
      const read = async (of) =>
        lab.withDatabase(async (db) => {
          const { rows } = await db.query(
            `SELECT metric_id, semantic_failure FROM tool_metrics
             WHERE coalesce(metadata->>'projectId', 'default') = $1 AND metric_id = ANY ($2) ORDER BY metric_id`,
            [of, executions[of]],
          );
          return rows;
        });
      for (const [index, n] of [1, 2, 3].entries()) {
        await visitor.open('/traces?kind=all');
        await rowOf(project)
          .filter({ hasText: `agent of ${project}` })
          .nth(index)
          .getByRole('link', { name: `agent of ${project}` })
          .click();
        await page
          .getByRole('treegrid', { name: 'Spans' })
          .getByRole('row', { name: /word_count/ })
          .click();
        assert.equal(projectInAddress(), project, traceOf(n));
        const marked = await act(project, read, async () => {
          await page.getByRole('button', { name: 'Mark as wrong' }).click();
          await confirm(`Mark as wrong in project ${project}?`, 'Mark', `wrong in ${project}`);
        });
        assert.equal(marked.filter((row) => row.semantic_failure === `wrong in ${project}`).length, 1);
        await act(project, read, async () => {
          await page.getByRole('button', { name: 'Remove mark' }).click();
          await confirm(`Remove the mark in project ${project}?`, 'Remove mark');
        });
      }
    });

  const recorded = (of) =>
    lab.withDatabase(async (db) => {
      const { rows } = await db.query(
        `SELECT is_test, count(*)::int AS calls FROM tool_metrics
         WHERE coalesce(metadata->>'projectId', 'default') = $1 GROUP BY is_test ORDER BY is_test`,
        [of],
      );
      return rows;
    });

  for (const project of projects)
    it(`calls run and are replayed in ${project}`, async () => {
      for (const id of executions[project].slice(0, 2)) {
        // The address names no project: the page adds that of the execution.
        await visitor.open(`/executions/${id}`);
        await until(() => projectInAddress() === project, 'the project in the address');
        await page.getByRole('link', { name: 'Replay' }).click();
        await page.getByText(`A replay runs the tool in project ${project}`).waitFor();
        await act(project, recorded, () => page.getByRole('button', { name: 'Replay', exact: true }).click());
      }
      for (const text of ['one', 'two']) {
        await visitor.open(`/tools/word_count/try?project=${project}`);
        await page.getByText(`Runs in project ${project}`).waitFor();
        await page.getByRole('textbox', { name: 'text' }).fill(text);
        await act(project, recorded, () => page.getByRole('button', { name: 'Run', exact: true }).click());
      }
    });

  for (const project of projects)
    it(`experiments are deleted in ${project}`, async () => {
      const read = async (of) => (await inProject(of, 'GET', '/api/v1/experiments')).pagination.total;
      for (const name of ['Trial A', 'Trial B']) {
        await visitor.open(`/experiments?project=${project}`);
        await page.getByRole('link', { name }).click();
        await act(project, read, async () => {
          await page.getByRole('button', { name: 'More' }).click();
          await page.getByRole('menuitem', { name: 'Delete' }).click();
          await confirm(`Delete ${name} in project ${project}?`, 'Delete');
        });
      }
    });

  it('made at least 40 acts', () => assert.ok(acts >= 40, `${acts} acts`));

  it('the switch narrows each list, and every way on keeps it', async () => {
    await visitor.open('/executions');
    await page.getByRole('columnheader', { name: 'Project' }).waitFor();
    for (const project of projects) await rowOf(project).first().waitFor();
    await choose(page, 'Project', 'support');
    await rowOf('billing').first().waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('columnheader', { name: 'Project' }).count(), 0);
    const rail = page.getByRole('navigation', { name: 'Screens' });
    for (const screen of ['Investigations', 'Traces', 'Events', 'Tools', 'Experiments', 'Executions']) {
      await rail.getByRole('link', { name: screen }).click();
      await page.getByRole('heading', { level: 1, name: screen }).waitFor();
      assert.equal(projectInAddress(), 'support', screen);
    }
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or run a command' }).fill('Failed executions');
    await page.keyboard.press('Enter');
    await page.getByText('No executions match these filters in project support').waitFor();
    assert.equal(projectInAddress(), 'support');
    await page.getByRole('link', { name: 'Show all projects' }).click();
    await page.getByText('No executions match these filters', { exact: true }).waitFor();
    await page.goBack();
    await page.getByText('No executions match these filters in project support').waitFor();
  });

  it('names outside Latin-1 are projects like others', async () => {
    const project = '結帳 données-€';
    await visitor.open(`/tools/word_count/try?project=${encodeURIComponent(project)}`);
    await page.getByText(`Runs in project ${project}`).waitFor();
    await page.getByRole('textbox', { name: 'text' }).fill('one');
    await act(project, recorded, () => page.getByRole('button', { name: 'Run', exact: true }).click());
    const [startUs, header] = [Date.now() * 1_000, `UTF-8''${encodeURIComponent(project)}`];
    const span = { trace_id: '8bf92f3577b34da6a3ce929d0e0e4738', span_id: 'b1', operation_name: 'far away' };
    await inProject(header, 'POST', '/api/v1/spans', [
      { ...span, start_time_us: startUs, finish_time_us: startUs + 1_000 },
    ]);
    const known = async () => (await lab.api('GET', '/api/v1/projects')).body.data.includes(project);
    await until(known, 'the project of the span');
    await visitor.open('/traces?kind=all');
    await choose(page, 'Project', project);
    await page.getByRole('link', { name: 'far away' }).click();
    await page.getByRole('heading', { level: 1, name: 'far away' }).waitFor();
    assert.equal(projectInAddress(), project);
  });

  it('tools of a project are grouped, without times that are those of all projects', async () => {
    for (const [path, count] of [
      ['/tools', 1],
      ['/tools?project=support', 0],
    ]) {
      await visitor.open(path);
      await page.getByRole('button', { name: 'Built-in tools' }).waitFor();
      assert.equal(await page.getByRole('columnheader', { name: 'Last used' }).count(), count);
    }
  });

  it('a page of one thing names its project, and leaves the console at the project that was chosen', async () => {
    // The address that is entered names no project, so the first request asks in the one that is shown.
    const seeker = await lab.visit({ known: [/404/] });
    await lab.signIn(seeker);
    const { page } = seeker;
    const rail = page.getByRole('navigation', { name: 'Screens' });
    const chosen = rail.getByRole('combobox', { name: 'Project' });
    for (const [id, before] of [[executions.billing[0]], [executions.support[0], 'billing']]) {
      await seeker.open(`/executions${before ? `?project=${before}` : ''}`);
      await page.getByRole('heading', { level: 1, name: 'Executions' }).waitFor();
      await page.evaluate((path) => window.history.pushState({}, '', path), `/console/executions/${id}`);
      const own = before ? otherOf(before) : 'billing';
      await page.locator('header').getByText(`project ${own}`, { exact: true }).waitFor();
      assert.equal(projectInAddress(page), own);
      assert.match(await chosen.innerText(), new RegExp(before ?? 'All projects'));
      await rail.getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      assert.equal(projectInAddress(page), before ?? null);
    }
    await seeker.context.close();
  });

  it('an address without a project opens the trace in the project that has it', async () => {
    const only = '7bf92f3577b34da6a3ce929d0e0e4737';
    const startUs = Date.now() * 1_000;
    const span = { trace_id: only, span_id: 'a1', operation_name: 'alone' };
    await inProject('support', 'POST', '/api/v1/spans', [
      { ...span, start_time_us: startUs, finish_time_us: startUs + 1_000 },
    ]);
    const seeker = await lab.visit({ known: [/404/] });
    await lab.signIn(seeker);
    await seeker.open(`/traces/${only}`);
    await seeker.page.getByRole('heading', { level: 1, name: 'alone' }).waitFor();
    assert.equal(new URL(seeker.page.url()).searchParams.get('project'), 'support');
    await seeker.open(`/traces/${only}?span=a1`);
    await seeker.page.getByRole('heading', { level: 1, name: 'alone' }).waitFor();
    assert.equal(new URL(seeker.page.url()).search, '?project=support&span=a1');
    await seeker.context.close();
  });

  it('a key of one project walks from trace to investigation, and never reads of the other one', async () => {
    const { body } = await lab.api('POST', '/api/v1/keys', {
      ...{ name: 'support team', projects: ['support'] },
      scopes: ['tools:call', 'metrics:read', 'traces:read', 'experiments:write'],
    });
    const guest = await lab.visit();
    const answers = [];
    // A stream has no end, and a page that is left does not wait for its answers.
    await guest.context.route(/\/api\/v1\/(?!console\/stream)/, async (route) => {
      const response = await route.fetch().catch(() => undefined);
      if (!response) return;
      answers.push([response.status(), response.url(), await response.text()]);
      await route.fulfill({ response }).catch(() => undefined);
    });
    await lab.signIn(guest, body.key);
    const own = guest.page;
    own.setDefaultTimeout(10_000);
    await inProject('support', 'POST', '/api/v1/tools/word_count/execute', {
      ...{ input: { text: '' }, context: { investigationId: 'inc-50' } },
    });
    await guest.open('/traces?kind=all');
    await own.getByRole('link', { name: 'inc-50' }).first().click();
    await own
      .getByRole('treegrid', { name: 'Spans' })
      .getByRole('row', { name: /word_count/ })
      .click();
    await own.getByRole('link', { name: 'Execution', exact: true }).click();
    await own.getByRole('heading', { level: 1, name: 'Execution of word_count' }).waitFor();
    await own.getByRole('link', { name: 'Tool health' }).click();
    await own.getByRole('heading', { name: 'Error patterns' }).waitFor();
    await own.goBack();
    await own.getByRole('link', { name: 'inc-50', exact: true }).click();
    await own.getByRole('heading', { level: 1, name: 'inc-50' }).waitFor();
    await own.getByRole('table', { name: 'Calls in order' }).waitFor();
    const rail = own.getByRole('navigation', { name: 'Screens' });
    assert.equal(await rail.getByRole('combobox', { name: 'Project' }).count(), 0);
    for (const screen of [
      'Overview',
      'Executions',
      'Investigations',
      'Traces',
      'Events',
      'Experiments',
      'Tools',
    ]) {
      await rail.getByRole('link', { name: screen }).click();
      await own.getByRole('heading', { level: 1, name: screen }).waitFor();
      await own.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' });
    }
    for (const [status, url, text] of answers) {
      assert.ok(status < 400, `${status} of ${url}: ${text}`);
      assert.ok(!text.includes('billing'), `${url} tells of billing: ${text}`);
    }
    assert.deepEqual(guest.problems, []);
    await guest.context.close();
  });

  it('has no violations of WCAG with several projects', async () => {
    for (const path of ['/executions', '/investigations', '/traces', '/traces?group=thread', '/events']) {
      await visitor.open(path);
      await page.getByRole('combobox', { name: 'Project' }).first().waitFor();
      assert.deepEqual(await violationsOf(page, path), []);
    }
    // A budget that was reset is forgotten: the page that is still open asks for it once more.
    const others = visitor.problems.filter((line) => !/404 .*\/investigations\/inc-4\d$/.test(line));
    assert.deepEqual(others, []);
  });
});
