import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { startApp, type TestApp } from '../support/app.js';
import { until } from '../support/wait.js';

// real: the server, PostgreSQL, processes, HTTP, promtool where it is installed

let tk: TestApp;

beforeAll(async () => {
  tk = await startApp();
});
afterAll(() => tk.close());

const scrape = async (): Promise<string> => (await tk.http.get('/metrics').expect(200)).text;
const linesWith = async (part: string): Promise<string[]> =>
  (await scrape()).split('\n').filter((line) => line.includes(part) && !line.startsWith('#'));

it('counts calls, their durations and refusals, and forgets a tool that is deleted', async () => {
  await tk.register('counted', { keepAlive: true });
  await tk.call('counted').expect(200);
  await tk.call('counted', { action: 'error', code: -32_001, message: 'no' }).expect(200);
  await tk.call('nobody').expect(404);
  const text = await scrape();
  for (const line of [
    'toolkeeper_calls_total{tool="counted",status="success"} 1',
    'toolkeeper_calls_total{tool="counted",status="error"} 1',
    'toolkeeper_calls_in_flight{tool="counted"} 0',
    'toolkeeper_call_duration_seconds_count{tool="counted"} 2',
    'toolkeeper_refusals_total{tool="unknown",reason="tool_not_found"} 1',
    'toolkeeper_process_spawns_total{tool="counted"} 1',
    'toolkeeper_processes{tool="counted",state="idle"} 1',
    'toolkeeper_circuit_state{tool="counted",state="closed"} 1',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
  await tk.http.delete('/api/v1/custom-tools/counted').expect(204);
  await until(async () => (await linesWith('tool="counted"')).length === 0, {
    what: 'no series of the tool',
  });
});

it('serves text that promtool accepts, with the metrics of the process and without gauges named _total', async () => {
  const { text, headers } = await tk.http.get('/metrics').expect(200);
  expect(headers['content-type']).toContain('text/plain; version=0.0.4');
  expect(text).toContain('nodejs_eventloop_lag_seconds');
  expect(text).not.toMatch(/nodejs_active_\w+_total/);
  if (existsSync('/usr/bin/promtool')) expect(await promtool(text)).toEqual({ code: 0, output: '' });
});

function promtool(text: string): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = execFile('/usr/bin/promtool', ['check', 'metrics'], (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    );
    child.stdin?.end(text);
  });
}
