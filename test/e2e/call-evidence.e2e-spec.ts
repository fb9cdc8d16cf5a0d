import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/wait.js';

let tk: TestApp;

beforeAll(async () => {
  tk = await startApp();
  await tk.register('messy', { keepAlive: true });
});
afterAll(() => tk.close());

const metricOf = (id: string) =>
  until(
    async () => {
      const answer = await tk.http.get(`/api/v1/tool-metrics/executions/${id}`);
      return answer.status === 200 && answer.body;
    },
    { what: 'the metric' },
  );

describe('a failed execution', () => {
  it('keeps exit code, stderr, stray lines and what is not known in its metadata; they are counted, too', async () => {
    await tk.call('messy', { action: 'noise', lines: 7 }).expect(200, /"status":"success"/);
    const { body } = await tk.call('messy', { action: 'crash', code: 9, stderr: 'boom' }).expect(200);
    expect(body).toMatchObject({
      status: 'error',
      attempts: 1,
      error: {
        type: 'tool_crashed',
        message: expect.stringMatching(
          /exit code 9 .* The result is unknown: the tool may have done its work\. stderr ends with: boom \(toolkeeper tool logs messy\)$/,
        ),
      },
    });
    const metric = await metricOf(body.executionId);
    expect(metric.metadata).toMatchObject({
      resultUnknown: true,
      exitCode: 9,
      signal: null,
      stderrTail: 'boom',
      strayLines: { count: 7, last: [2, 3, 4, 5, 6].map((n) => `chatter ${n}`) },
    });
    const { text } = await tk.http.get('/metrics').expect(200);
    expect(text).toContain('toolkeeper_process_stray_lines_total{tool="messy"} 7');
  });

  it('keeps what its tool wrote to stderr about an error that it answered, and nothing of earlier calls', async () => {
    const failing = (stderr: string) => tk.call('messy', { action: 'error', stderr }).expect(200);
    await failing('about another call');
    const { body } = await failing('no such pod');
    expect(body.error.type).toBe('tool_error');
    expect((await metricOf(body.executionId)).metadata).toMatchObject({ stderrTail: 'no such pod' });
  });
});
