import { appendFileSync, mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Reconciler } from '../../src/runtime/custom-tools/manager/reconciler.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: two servers that stand in folders of their own, their one database, files, the tools' processes; mock: nothing

/** Answers a word. Bash reads no further than its loop: what is appended is never looked at. */
const saying = (word: string): string => `
while IFS= read -r line; do
  id=\${line#*'"id":"'}
  id=\${id%%'"'*}
  case $line in
    *'"method":"initialize"'*) result='{"name":"sayer","description":"Says a word","version":"1.0.0","inputSchema":{}}' ;;
    *) result='"${word}"' ;;
  esac
  printf '{"jsonrpc":"2.0","id":"%s","result":%s}\\n' "$id" "$result"
done
exit
`;

interface Replica {
  readonly tk: TestApp;
  /** Where its relative paths begin, as those of another installation do elsewhere. */
  readonly root: string;
}
let here: Replica;
let there: Replica;
beforeAll(async () => {
  const start = async (variables = {}): Promise<Replica> => {
    const root = makeTestFolder();
    mkdirSync(join(root, 'sayer'));
    // The tests look themselves.
    const byHand = { root, customTools: { reloadIntervalMs: 86_400_000 } };
    return { root, tk: await startApp(variables, byHand) };
  };
  here = await start();
  there = await start({ DATABASE_URL: here.tk.db.url });
});
afterAll(async () => {
  for (const { tk, root } of [there, here]) {
    await tk.close();
    rmSync(root, { recursive: true, force: true });
  }
});

const look = ({ tk }: Replica) => tk.app.get(Reconciler).reconcile({ checks: false });
const write = ({ root }: Replica, file: string, word: string) =>
  writeFileSync(join(root, 'sayer', file), saying(word));
const register = (replica: Replica, name: string) =>
  replica.tk.register(name, { command: 'bash', args: [`${name}.sh`], workingDir: 'sayer', keepAlive: true });
/** What a replica's tool says, and the revision that is recorded for the call. */
const says = async ({ tk }: Replica, name: string): Promise<[word: string, revision: number]> => {
  const { executionId, result } = (await tk.call(name).expect(200)).body;
  const path = `/api/v1/tool-metrics/executions/${executionId}`;
  const metric = await until(
    async () => {
      const found = await tk.http.get(path);
      return found.status === 200 ? found.body : undefined;
    },
    { what: 'the execution to be recorded' },
  );
  return [result, metric.metadata.revision];
};
const revisions = async (name: string): Promise<Json[]> =>
  (await here.tk.http.get(`/api/v1/custom-tools/${name}/revisions`).expect(200)).body.data;
const sources = async (name: string) => (await revisions(name)).map(({ source }) => source);

it('replicas that see different files run each its own, and record the revision with that content', async () => {
  write(here, 'twofold.sh', 'here');
  write(there, 'twofold.sh', 'there');
  await register(here, 'twofold');
  for (const replica of [there, here, there, here]) await look(replica);
  expect(await says(here, 'twofold')).toEqual(['here', 1]);
  expect(await says(there, 'twofold')).toEqual(['there', 2]);
  // Neither takes the other's for a change of its own, round after round.
  expect(await sources('twofold')).toEqual(['reload', 'register']);

  // A roll-out reaches one replica after the other.
  for (const replica of [here, there]) {
    write(replica, 'twofold.sh', 'anew');
    for (const each of [here, there]) await look(each);
    expect(await says(replica, 'twofold')).toEqual(['anew', 3]);
    expect((await says(there, 'twofold'))[1]).toBe(replica === here ? 2 : 3);
  }
  expect(await sources('twofold')).toEqual(['reload', 'reload', 'register']);
});

it('of a file over 16 MiB size and time count, not the content', async () => {
  // The same at both: a replica that sees another file stores a revision of its own.
  const files = [here, there].map(({ root }) => join(root, 'sayer', 'large.sh'));
  const [file = ''] = files;
  const large = (word: string) =>
    files.forEach((each) => writeFileSync(each, saying(word).padEnd(16 * 1_048_576 + 1, '#')));
  const isWrittenAt = (at: Date) => files.forEach((each) => utimesSync(each, at, at));
  const written = new Date('2026-01-02T03:04:05.678Z');
  large('one');
  isWrittenAt(written);
  await register(here, 'large');
  expect(await says(here, 'large')).toEqual(['one', 1]);
  const [first] = await revisions('large');
  const { body } = await here.tk.http.get('/api/v1/custom-tools/large/revisions/1').expect(200);
  expect(body.files).toContainEqual(
    expect.objectContaining({ hash: null, size: statSync(file).size, modifiedAt: written.toISOString() }),
  );

  large('two');
  isWrittenAt(written);
  await look(here);
  // The process goes on that was started of the former content.
  expect(await says(here, 'large')).toEqual(['one', 1]);
  expect(await revisions('large')).toEqual([first]);

  isWrittenAt(new Date('2026-01-02T03:04:06.789Z'));
  await look(here);
  expect(await says(here, 'large')).toEqual(['two', 2]);

  appendFileSync(file, '#');
  isWrittenAt(new Date('2026-01-02T03:04:06.789Z'));
  await look(here);
  expect(await sources('large')).toEqual(['reload', 'reload', 'register']);
});
