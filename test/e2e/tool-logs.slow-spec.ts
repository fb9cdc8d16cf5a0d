import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Lifecycle } from '../../src/base/common/lifecycle.js';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: HTTP, PostgreSQL, processes; mock: nothing

let folder: string;
let tk: TestApp;

beforeAll(async () => {
  folder = makeTestFolder();
  tk = await startApp(
    {},
    { events: { maxStreams: 3 }, server: { sseHeartbeatMs: 100 }, toolLogs: { maxLineBytes: 256 } },
  );
});
afterAll(async () => {
  await tk.close();
  rmSync(folder, { recursive: true, force: true });
});

const logs = async (name: string, query = ''): Promise<Json> =>
  (await tk.http.get(`/api/v1/custom-tools/${name}/logs${query}`).expect(200)).body;
const messages = (page: Json): string[] => page.data.map((entry: Json) => entry.message ?? entry.error ?? '');

interface Follower {
  readonly text: () => string;
  /** Data of the events of a name. */
  readonly events: (name: string) => Json[];
  readonly ended: Promise<void>;
  leave(): void;
}

async function follow(name: string, headers: Record<string, string> = {}, app = tk): Promise<Follower> {
  const controller = new AbortController();
  const answer = await fetch(`${app.url}/api/v1/custom-tools/${name}/logs`, {
    headers: { accept: 'text/event-stream', ...app.key, ...headers },
    signal: controller.signal,
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  let text = '';
  const ended = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? [])
      text += decoder.decode(chunk as Uint8Array, { stream: true });
  })().catch(() => undefined);
  return {
    text: () => text,
    events: (event) =>
      [...text.matchAll(new RegExp(`^event: ${event}\ndata: (.*)\n\n`, 'gm'))].map(([, data]) =>
        JSON.parse(data ?? ''),
      ),
    ended,
    leave: () => controller.abort(),
  };
}

describe('the log of a tool', () => {
  it('tells what the tool wrote and what happened to it, in the structured form', async () => {
    await tk.register('chatty', { keepAlive: true });
    await tk.call('chatty', { action: 'noise', lines: 2 });
    await tk.call('chatty', { action: 'crash', code: 3, stderr: `grüße 漢字\n${'x'.repeat(300)}` });
    await until(async () => (await logs('chatty')).data.some((entry: Json) => entry.event === 'terminate'), {
      what: 'the end of the process',
    });
    const { data, nextSince, missed } = await logs('chatty');
    expect(data.map(({ event, level, message }: Json) => [event, level, message])).toEqual([
      ['health', 'info', 'status active'],
      ['spawn', 'debug', 'a process is started'],
      ['spawn', 'info', 'the process is ready'],
      ['stdout', 'warn', 'chatter 0'],
      ['stdout', 'warn', 'chatter 1'],
      ['stderr', 'info', 'grüße 漢字'],
      ['stderr', 'info', 'x'.repeat(256)],
      ['terminate', 'warn', 'the process ended with exit code 3 (crash)'],
    ]);
    expect(Number.isInteger(data[2].durationMs)).toBe(true);
    expect(data[6]).toMatchObject({ truncated: true, pid: data[2].pid, tool: 'chatty' });
    expect(data[7]).toMatchObject({ exitCode: 3, signal: null, reason: 'crash', error: 'crash' });
    expect(new Date(data[0].timestamp).toISOString()).toBe(data[0].timestamp);
    expect({ nextSince, missed }).toEqual({ nextSince: data[7].id, missed: 0 });
  });

  it('has the level that a line names, and the call that wrote it', async () => {
    await tk.register('levelled', { keepAlive: true });
    const stderr = ['WARN slow', '{"level":50,"msg":"gone"}', 'ERROR away', 'no errors found'];
    const { body } = await tk.call('levelled', { action: 'crash', code: 3, stderr: stderr.join('\n') });
    const entries = await until(
      async () => {
        const { data } = await logs('levelled');
        return data.some(({ event }: Json) => event === 'terminate') ? data : undefined;
      },
      { what: 'the end of the process' },
    );
    const lines = entries.filter(({ event }: Json) => event === 'stderr');
    expect(lines.map(({ level, message }: Json) => [message, level])).toEqual(
      stderr.map((line, n) => [line, ['warn', 'error', 'error', 'info'][n]]),
    );
    expect(new Set(lines.map(({ executionId }: Json) => executionId))).toEqual(new Set([body.executionId]));
  });

  it('is read on from where a reader was', async () => {
    const first = await logs('chatty', '?limit=1000');
    const { data } = await logs('chatty', `?since=${first.data[1].id}&limit=2`);
    expect(data).toEqual(first.data.slice(2, 4));
    expect((await logs('chatty', `?since=${first.nextSince}`)).data).toEqual([]);
    expect((await logs('chatty', '?limit=1')).data).toEqual(first.data.slice(-1));
    await tk.http.get('/api/v1/custom-tools/chatty/logs?limit=0').expect(400, /"pointer":"\/limit"/);
    await tk.http.get('/api/v1/custom-tools/chatty/logs?since=x').expect(400, /"pointer":"\/since"/);
    await tk.http.get('/api/v1/custom-tools/nobody/logs').expect(404, /"code":"not_found"/);
  });

  it('tells of starts that fail, of kills, and of each change of the status', async () => {
    const marker = join(folder, 'broken');
    await tk.register('failing', {
      args: [join(fixtures, 'fixture-tool.mjs'), `--start=unless:${marker}`],
      keepAlive: true,
      sandbox: { allowedPaths: [folder] },
    });
    await tk.call('failing').expect(200);
    await tk.call('failing', { action: 'hang' }, { timeoutMs: 300 }).expect(200, /"status":"timeout"/);
    writeFileSync(marker, '');
    await tk.call('failing', {}, { timeoutMs: 5_000 });
    const all = await until(
      async () => {
        const page = await logs('failing', '?limit=1000');
        return messages(page).includes('status active → error') ? messages(page) : undefined;
      },
      { what: 'status error' },
    );
    expect(all).toContain('the process ended with SIGKILL (timeout)');
    expect(all).toContain('ModuleNotFoundError: no module named requests');
    expect(all).toContainEqual(expect.stringMatching(/^start 1 failed: .*exit code 7/));
    rmSync(marker);
    await tk.http.post('/api/v1/custom-tools/failing/enable').expect(200);
    await tk.http.post('/api/v1/custom-tools/failing/disable').expect(200);
    const tail = messages(await logs('failing', '?limit=1000')).filter((message) =>
      message.startsWith('status'),
    );
    expect(tail).toEqual([
      'status active',
      'status active → error',
      'status error → active',
      'status active → inactive',
    ]);
  });

  it('is for administrators', async () => {
    await tk.anonymous.get('/api/v1/custom-tools/any/logs').expect(401);
    await tk.http.get('/api/v1/custom-tools/any/logs').expect(404);
  });
});

describe('a follower of a log', () => {
  it('gets what was, what comes, heartbeats between, and goes on after a break', async () => {
    await tk.register('live', { keepAlive: true });
    const first = await follow('live');
    await until(() => first.events('log').length === 1, { what: 'the entry that was there' });
    await tk.call('live', { action: 'noise', lines: 3 });
    await until(() => first.events('log').length === 6, { what: 'the new entries' });
    await until(() => (first.text().match(/^: /gm)?.length ?? 0) >= 3, { what: 'heartbeats' });
    first.leave();
    await tk.call('live', { action: 'noise', lines: 1 });
    const seen = first.events('log').at(-1);
    const again = await follow('live', { 'last-event-id': seen.id });
    await until(() => again.events('log').length === 1, { what: 'the entry of the break' });
    expect(again.events('log')[0]).toMatchObject({ event: 'stdout', message: 'chatter 0' });
    expect(again.text()).toContain(`id: ${again.events('log')[0].id}\nevent: log\n`);
    again.leave();
  });

  it('is one of so many; one that left makes room', async () => {
    const all = await Promise.all([1, 2, 3].map(() => follow('live')));
    const refused = await tk.http.get('/api/v1/custom-tools/live/logs').set('accept', 'text/event-stream');
    expect(refused.status).toBe(429);
    expect(refused.body).toMatchObject({
      code: 'rate_limited',
      detail: 'A caller may have 3 streams of logs at a time at this server, and all callers 500',
    });
    await tk.http.get('/api/v1/custom-tools/live/logs').expect(200);
    all[0]?.leave();
    all.push(await until(() => follow('live'), { what: 'room' }));
    for (const follower of all) follower.leave();
  });

  it('is told when the tool is removed, and when the server stops', async () => {
    const app = await startApp();
    await app.register('gone');
    await app.register('stays');
    const [gone, stays] = await Promise.all([follow('gone', {}, app), follow('stays', {}, app)]);
    await app.http.delete('/api/v1/custom-tools/gone').expect(204);
    await gone.ended;
    expect(gone.events('end')).toEqual([{ reason: 'removed' }]);
    app.app.get(Lifecycle).drain();
    await stays.ended;
    expect(stays.events('end')).toEqual([{ reason: 'shutting_down' }]);
    await app.close();
  });
});

describe('a tool that writes 1 GiB to stderr', () => {
  it('costs neither memory nor the event loop, and its log says what was left out', async () => {
    const flood = join(folder, 'flood.sh');
    writeFileSync(
      flood,
      `while read -r line; do
        id=\${line#*\\"id\\":\\"}; id=\${id%%\\"*}
        case $line in
          *execute*) yes 'a line of the flood' | head -c 1073741824 >&2 ;;
        esac
        echo "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":\\"$id\\",\\"result\\":{\\"inputSchema\\":{}}}"
      done\n`,
    );
    await tk.register('flood', { command: 'bash', args: [flood], keepAlive: true, timeoutMs: 300_000 });
    const follower = await follow('flood');
    const before = process.memoryUsage().rss;
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    const call = tk.call('flood', {}, { timeoutMs: 300_000 });
    const answered = call.then((answer) => answer);
    let most = 0;
    let probes = 0;
    const probing = (async () => {
      for (let done = false; !done; probes++) {
        await tk.http.get('/livez').expect(200);
        most = Math.max(most, process.memoryUsage().rss);
        done = await Promise.race([
          answered.then(() => true),
          new Promise<boolean>((next) => setTimeout(next, 50, false)),
        ]);
      }
    })();
    const { body } = await answered;
    await probing;
    delay.disable();
    expect(body).toMatchObject({ status: 'success' });
    expect(probes).toBeGreaterThan(3);
    // What was kept of the flood would be 1 GiB; garbage, and modules that the test process reads meanwhile, are not.
    expect(most - before).toBeLessThan(400_000_000);
    expect(delay.percentile(50) / 1e6).toBeLessThan(500);
    await tk.http.post('/api/v1/custom-tools/flood/disable').expect(200);
    const page = await until(
      async () => {
        const found = await logs('flood', '?limit=1000');
        return messages(found).some((message) => message.includes('the process ended')) ? found : undefined;
      },
      { what: 'the end of the process' },
    );
    expect(page.data.length).toBeLessThanOrEqual(1_000);
    expect(messages(page)).toContainEqual(
      expect.stringMatching(/^\d+ bytes of stderr were skipped: the tool writes more lines/),
    );
    expect(follower.events('log').length).toBeGreaterThan(100);
    follower.leave();
  }, 400_000);
});
