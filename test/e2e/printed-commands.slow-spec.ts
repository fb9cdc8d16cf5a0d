import { execFile } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../src/base/common/project.js';
import { announceServer } from '../../src/base/common/server-file.js';
import { startApp, type TestApp } from '../support/app.js';
import { built } from '../support/built.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the commands that README and docs print, bash, curl, the command line, the whole server; mock: nothing

/** A block of shell commands; its fence says whether it runs: `bash run`, or `bash no-run: <why>`. */
interface Block {
  readonly at: string;
  readonly mark: string;
  readonly commands: string;
}

const root = projectRoot();
const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name))
  .sort();
/** The README makes what later pages use. */
const blocks = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...docs].flatMap(blocksOf);

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^ *```(\w*) ?(.*)\n([\s\S]*?)^ *```$/gm)]
    .filter(
      ([, language = '', , commands = '']) =>
        /^(bash|sh|shell|console|zsh)$/.test(language) ||
        (language === '' && /^\$? ?(curl|npm|npx|node|toolkeeper|export|kubectl|docker) /.test(commands)),
    )
    .map(({ index, 2: mark = '', 3: commands = '' }) => {
      const line = text.slice(0, index).split('\n').length;
      return { at: `${page}:${line}`, mark, commands };
    });
}

const runs = blocks.filter(({ mark }) => /^run\b/.test(mark));
let tk: TestApp;
let data: string;
let folder: string;

beforeAll(async () => {
  data = makeTestFolder();
  folder = makeTestFolder();
  const variables = {
    TOOLKEEPER_DATA_DIR: data,
    CUSTOM_TOOLS_DIR: join(root, 'tools', 'installed'),
    PLAYBOOKS_DIR: shippedPlaybooks,
  };
  tk = await startApp(variables, { circuit: { openMs: 1_000 } });
  announceServer(data, tk.url);
});

afterAll(async () => {
  await tk.close();
  for (const each of [data, folder]) rmSync(each, { recursive: true, force: true });
});

/** The commands with the ports and folders of this run. */
const here = (commands: string): string =>
  commands
    .replaceAll('localhost:3000', new URL(tk.url).host)
    .replaceAll('127.0.0.1:3000', new URL(tk.url).host)
    .replaceAll('/tmp/word_count', join(folder, 'word_count'))
    .replaceAll('sleep 30', 'sleep 2');

/** Output of each block, run one after the other in one shell, which ends at the first failure. */
async function outputs(): Promise<Map<string, string>> {
  mkdirSync(join(folder, '.toolkeeper'));
  copyFileSync(join(data, 'admin.key'), join(folder, '.toolkeeper', 'admin.key'));
  mkdirSync(join(folder, 'bin'));
  const command = join(folder, 'bin', 'toolkeeper');
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${built()}/bin/toolkeeper.mjs' "$@"\n`);
  chmodSync(command, 0o755);
  const begin = '--- block ';
  const script = runs.map(({ at, mark, commands }) => {
    // An answer that is no success fails, unless the fence says that there is one.
    const curl = mark === 'run' ? 'curl() { command curl --fail-with-body "$@"; }' : 'unset -f curl';
    return `echo '${begin}${at}'\n${curl}\n${here(commands)}\necho\n`;
  });
  const options = ['-eu', '-o', 'pipefail', '-c', script.join('')];
  const env = {
    ...process.env,
    PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
    TOOLKEEPER_DATA_DIR: data,
    DATABASE_URL: tk.db.url,
  };
  const child = promisify(execFile)('bash', options, { cwd: folder, env });
  child.child.stdin?.end();
  const { stdout } = await child;
  const printed = stdout.split(begin).slice(1);
  return new Map(
    printed.map((text) => [text.slice(0, text.indexOf('\n')), text.slice(text.indexOf('\n')).trim()]),
  );
}

it.each(blocks)('$at runs, or says why not', ({ mark }) => {
  expect(mark).toMatch(/^(run(: \w.*)?|no-run: \w.*)$/);
});

it('all commands that are marked to run do, and the README keeps its word', async () => {
  const all = await outputs();
  expect([...all.keys()]).toEqual(runs.map(({ at }) => at));
  const of = (page: string): string[] =>
    [...all].filter(([at]) => at.startsWith(`${page}:`)).map(([, text]) => text);
  const [key, called, registered, counted, health] = of('README.md');
  expect(key).toBe('');
  expect(called).toMatch(/"tool":"disk_usage".*"status":"success".*"usedPercent":\d/);
  expect(registered).toMatch(/"name":"word_count".*"status":"active".*"healthStatus":"healthy"/);
  expect(counted).toMatch(
    /"status":"success","result":\{"words":6\}.*"code":"invalid_input".*"pointer":"\/input\/text"/s,
  );
  expect(health).toMatch(/"toolName":"word_count".*"issues":\["Insufficient data/);
  const [broken, closed] = of('docs/operate/health.md');
  const answers = broken?.split('\n').filter(Boolean) ?? [];
  expect(answers.map((answer) => /"(tool_crashed|circuit_open)"|"state":"(\w+)"/.exec(answer)?.[0])).toEqual([
    ...Array<string>(5).fill('"tool_crashed"'),
    '"circuit_open"',
    '"state":"open"',
  ]);
  expect(closed?.match(/"words":2/g)).toHaveLength(3);
  expect(closed).toMatch(/"state":"closed"[^\n]*$/);
  expect(of('docs/agents/playbooks.md')[0]).toMatch(/"status":"success".*"total_results":[1-9]/);
});
