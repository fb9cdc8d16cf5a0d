import { carefulModel, offeredTools } from '../agent/careful-model.js';
import { complexIncident, simpleIncident } from '../agent/incidents.js';
import { Investigator, type Report } from '../agent/investigator.js';
import { startApp, type TestApp } from '../support/app.js';
import { DataStorageServer } from '../support/data-storage.js';
import { type LlmServer, startLlmServer } from '../support/llm-endpoint.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';

/**
 * An agent investigates incidents: it asks for playbooks where an incident is complex, and not where it is simple.
 * real: OpenAI's SDK and its loop over tools, the server, a Data Storage service in its own process, HTTP between all;
 * scripted: the model, which answers from what it is sent and nothing else.
 */
describe('an agent by OpenAI’s SDK', () => {
  let llm: LlmServer;
  let storage: DataStorageServer;
  let tk: TestApp;
  /** Gives up soon on a service that does not answer; /metrics is of the server that started last. */
  let hasty: TestApp;

  beforeAll(async () => {
    [llm, storage] = await Promise.all([startLlmServer(carefulModel), DataStorageServer.start()]);
    const { url } = storage;
    const patientFor = (tryMs: number, inAllMs: number): Promise<TestApp> =>
      startApp(
        { DATA_STORAGE_URL: url },
        {
          dataStorage: {
            timeoutMs: tryMs,
            deadlineMs: inAllMs,
            pauseMs: 5,
            // Each way of being down is met, not an open circuit.
            circuit: { minCalls: 1_000 },
          },
        },
      );
    tk = await patientFor(10_000, 30_000);
    hasty = await patientFor(150, 800);
  });
  afterAll(async () => {
    await hasty.close();
    await tk.close();
    await Promise.all([llm.close(), storage.stop()]);
  });
  beforeEach(() => storage.behave('ok'));

  const investigate = (
    text: string,
    investigationId: string,
    onAnswer?: (answer: unknown) => unknown,
    toolkeeper = tk.url,
  ): Promise<Report> =>
    new Investigator(
      toolkeeper,
      { baseURL: llm.url, apiKey: 'none', model: 'scripted' },
      onAnswer,
    ).investigate({
      text,
      investigationId,
      labels: { environment: 'production' },
    });

  it('is offered get_playbooks in OpenAI’s own format', async () => {
    await investigate(simpleIncident, 'inv-offer');
    expect(offeredTools(llm.asked.at(-1)?.body)).toEqual(
      expect.arrayContaining(['get_playbooks', 'get_context']),
    );
  });

  it('test_simple_investigation_no_context: investigates a simple incident without asking for playbooks', async () => {
    const report = await investigate(simpleIncident, 'inv-simple');
    expect(report).toMatchObject({ toolUses: [], playbookId: null });
    expect(report.recommendation).toContain('Restart');
    await tk.http.get('/api/v1/investigations/inv-simple').expect(404);
  });

  it('test_complex_investigation_with_context: asks about a complex one, and recommends what the playbook says', async () => {
    await storage.forget();
    const report = await investigate(complexIncident, 'inv-complex');
    expect(report.toolUses).toEqual([
      {
        tool: 'get_playbooks',
        input: { query: complexIncident },
        answer: {
          playbooks: [
            {
              playbook_id: 'cascading-failure-shed-load',
              version: '1.0.0',
              description: expect.stringContaining('Sheds load'),
              confidence: expect.any(Number),
            },
          ],
          total_results: 1,
        },
      },
    ]);
    expect(report.playbookId).toBe('cascading-failure-shed-load');
    expect(report.recommendation).toContain('Sheds load at the edge');
    expect(report.confidence).toBeGreaterThan(0.8);
    const [asked] = await storage.requests();
    expect(new URL(asked?.url ?? '', 'http://s').searchParams.get('label.environment')).toBe('production');
    const { body } = await tk.http.get('/api/v1/investigations/inv-complex').expect(200);
    expect(body.tools).toMatchObject([{ tool: 'get_playbooks', used: 1 }]);
  });

  it('has nothing better to say when the playbook is taken out of the answer', async () => {
    const report = await investigate(complexIncident, 'inv-robbed', () => ({
      playbooks: [],
      total_results: 0,
    }));
    expect(report.toolUses).toHaveLength(1);
    expect(report.playbookId).toBeNull();
    expect(report.recommendation).not.toContain('Sheds load');
    expect(report.confidence).toBeLessThan(0.8);
  });

  it.each(['refused', 'black_hole', 'server_error'] as const)(
    'test_data_storage_failure_degraded_mode: comes to an end with less confidence while the service is down (%s)',
    async (mode) => {
      const incident = `${complexIncident} (${mode})`;
      const usual = await investigate(incident, `inv-up-${mode}`);
      await storage.behave(mode);
      const before = performance.now();
      const report = await investigate(`${incident}, still`, `inv-down-${mode}`, undefined, hasty.url);
      expect(performance.now() - before).toBeLessThan(60_000);
      expect(report.toolUses).toMatchObject([
        {
          tool: 'get_playbooks',
          answer: { error: expect.any(String), fallback: 'continue_without_context' },
        },
      ]);
      expect(report).toMatchObject({ playbookId: null, recommendation: expect.stringMatching(/\w/) });
      expect(report.confidence).toBeGreaterThan(0);
      expect(report.confidence).toBeLessThan(usual.confidence);
      const { text } = await hasty.http.get('/metrics').expect(200);
      expect(text).toMatch(/holmesgpt_playbook_tool_call_errors_total\{type="upstream_unavailable"\} [1-9]/);
    },
  );

  it('finds its playbook in the built-in catalogue as well', async () => {
    const own = await startApp({ PLAYBOOKS_DIR: shippedPlaybooks });
    try {
      const incident = `Several pods are OOMKilled again and again, exit code 137, memory at its limit`;
      const report = await investigate(incident, 'inv-own', undefined, own.url);
      expect(report.playbookId).toMatch(/oom/);
      expect(report.recommendation).toContain(report.playbookId);
    } finally {
      await own.close();
    }
  });
});
