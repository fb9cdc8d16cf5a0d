import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: HTTP, PostgreSQL, processes; mock: nothing

let folder: string;
let tk: TestApp;

/** Bash tools that do something before they answer a call. */
const tool = async (name: string, onExecute: string): Promise<void> => {
  const file = join(folder, `${name}.sh`);
  const reply = '"{\\"jsonrpc\\":\\"2.0\\",\\"id\\":\\"$id\\",\\"result\\":{\\"inputSchema\\":{}}}"';
  writeFileSync(
    file,
    `while read -r line; do
      id=\${line#*\\"id\\":\\"}; id=\${id%%\\"*}
      case $line in *execute*) ${onExecute} ;; esac
      echo ${reply}
    done\n`,
  );
  await tk.register(name, { command: 'bash', args: [file], keepAlive: true, timeoutMs: 120_000 });
};

/** What the event loop, a call of another tool and a probe of life wait meanwhile, in milliseconds. */
async function waits(meanwhile: Promise<unknown>) {
  const loop = monitorEventLoopDelay({ resolution: 5 });
  loop.enable();
  let over = false;
  const done = meanwhile.finally(() => (over = true));
  const repeated = async (ask: () => PromiseLike<{ readonly status: number }>): Promise<number> => {
    const times: number[] = [];
    while (!over) {
      const from = performance.now();
      expect((await ask()).status).toBe(200);
      times.push(performance.now() - from);
      await delay(5);
    }
    times.sort((a, b) => a - b);
    return times[Math.floor(times.length * 0.99)] ?? Infinity;
  };
  const [call, livez] = await Promise.all([
    repeated(() => tk.call('honest')),
    repeated(() => tk.http.get('/livez')),
    done,
  ]);
  loop.disable();
  return { loop: loop.percentile(99) / 1e6, call, livez };
}

const ended = async (name: string): Promise<string | undefined> => {
  const { body } = await tk.http.get(`/api/v1/custom-tools/${name}/logs?limit=1000`).expect(200);
  const messages = body.data.map(({ message = '' }: Json) => message) as string[];
  return messages.find((message) => message.startsWith('the process ended'));
};

beforeAll(async () => {
  folder = makeTestFolder();
  tk = await startApp();
  await tk.register('honest', { keepAlive: true });
});
afterAll(async () => {
  await tk.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('tools that flood stdout', () => {
  it('hold up nobody, and are ended for it with a reason that names the limit', async () => {
    await Promise.all([1, 2, 3].map((n) => tool(`idle${n}`, 'yes x &')));
    await tool('busy', 'yes x');
    await tool('errors', 'yes x >&2 &');
    await waits(delay(300));
    const quiet = await waits(delay(2_000));
    const idle = ['idle1', 'idle2', 'idle3', 'errors'];
    for (const name of idle) await tk.call(name).expect(200, /"status":"success"/);
    const busy = tk.call('busy').then(({ body }) => body);
    const flood = until(async () => (await Promise.all(idle.map(ended))).every(Boolean), {
      what: 'the end of all that flood while they are idle',
    });
    const beside = await waits(Promise.all([busy, flood]));
    // Without the bounds each of these is several seconds.
    for (const who of ['loop', 'call', 'livez'] as const) {
      expect({ [who]: beside[who] < 50 + 5 * quiet[who], beside, quiet }).toMatchObject({ [who]: true });
    }
    expect((await busy).error).toMatchObject({
      type: 'protocol_error',
      message: expect.stringMatching(/wrote over 10000 lines a second beside its answers .* for 10 s/),
    });
    for (const name of [...idle, 'busy']) {
      const end = await until(() => ended(name), { what: `the end of ${name}` });
      expect(end).toMatch(/\(flood\): .* lines a second/);
    }
    // Each was the fault of its own process: the next one serves.
    await tk.call('honest').expect(200, /"status":"success"/);
  });
});
