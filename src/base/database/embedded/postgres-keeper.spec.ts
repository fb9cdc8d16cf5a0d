import { until } from '../../../../test/support/wait.js';
import type { EmbeddedPostgres, RunningPostgres } from './embedded-postgres.js';
import { PostgresKeeper } from './postgres-keeper.js';

// mock: the server, which dies as it is told; real: time and the keeper
it('pauses longer from failure to failure, and starts nothing after the stop', async () => {
  const lines: string[] = [];
  const say = (line: unknown): void => void lines.push(String(line));
  const tries: number[] = [];
  let runs = true;
  let stops = 0;
  const server: RunningPostgres = {
    url: 'postgres://there',
    pid: 7,
    port: 5,
    attached: false,
    isRunning: () => runs,
    stop: async () => void stops++,
  };
  const postgres: Pick<EmbeddedPostgres, 'start' | 'startAgain'> = {
    start: async () => server,
    startAgain: async (port) => {
      expect(port).toBe(5);
      tries.push(performance.now());
      if (tries.length < 2) throw new Error('no room');
      runs = true;
      return { ...server, pid: 8 };
    },
  };
  const keeper = await PostgresKeeper.start(postgres as EmbeddedPostgres, {
    logger: { error: say, log: say },
    checkIntervalMs: 5,
  });
  expect(keeper.url).toBe('postgres://there');
  const diedAt = performance.now();
  runs = false;
  await until(() => keeper.pid === 8, { what: 'the restart' });
  const [first = 0, second = 0] = tries;
  expect(first - diedAt).toBeGreaterThan(450);
  expect(second - first).toBeGreaterThan(950);
  expect(lines).toEqual([
    expect.stringMatching(/pid 7\) has ended/),
    'Error: no room',
    expect.stringMatching(/runs again \(pid 8\)/),
  ]);
  await keeper.stop();
  runs = false;
  const ended = performance.now() + 100;
  await until(() => performance.now() > ended, { what: 'looks that do not come' });
  expect(tries).toHaveLength(2);
  expect(stops).toBe(1);
});
