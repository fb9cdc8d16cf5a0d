import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../src/common/project.js';
import { startApp, type TestApp } from '../support/app.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the README's own commands, bash, curl, the whole server; mock: nothing

let tk: TestApp;
let data: string;
let folder: string;

beforeAll(async () => {
  data = makeTestFolder();
  folder = makeTestFolder();
  const variables = {
    TOOLKEEPER_DATA_DIR: data,
    CUSTOM_TOOLS_DIR: join(projectRoot(), 'tools', 'installed'),
    PLAYBOOKS_DIR: shippedPlaybooks,
  };
  tk = await startApp(variables, { circuit: { openMs: 1_000 } });
});

afterAll(async () => {
  await tk.close();
  for (const each of [data, folder]) rmSync(each, { recursive: true, force: true });
});

/** Bash blocks of a section of a page. */
function blocksOf(page: string, heading: string): string[] {
  const [, rest = ''] = readFileSync(join(projectRoot(), page), 'utf8').split(`\n## ${heading}\n`);
  const [section = ''] = rest.split('\n## ');
  return [...section.matchAll(/```bash\n([\s\S]*?)```/g)].map(([, block = '']) => block);
}

/** The commands of the README and of the pages that go on from there, with the ports and folders of this run. */
function commands(): string[] {
  return [
    ...blocksOf('README.md', 'Two minutes'),
    ...blocksOf('docs/operate/health.md', 'Try it'),
    ...blocksOf('docs/agents/playbooks.md', 'Find a playbook'),
  ].map((block) =>
    block
      .replaceAll('localhost:3000', new URL(tk.url).host)
      .replaceAll('/tmp/word_count', join(folder, 'word_count'))
      .replaceAll('sleep 30', 'sleep 2'),
  );
}

/** What each of them prints, run one after the other in one shell. */
async function outputs(): Promise<string[]> {
  const end = '--- end of a command ---';
  mkdirSync(join(folder, '.toolkeeper'));
  copyFileSync(join(data, 'admin.key'), join(folder, '.toolkeeper', 'admin.key'));
  const script = commands().map((command) => `${command}\necho; echo '${end}'\n`);
  const options = ['-eu', '-o', 'pipefail', '-c', script.join('')];
  const { stdout } = await promisify(execFile)('bash', options, { cwd: folder });
  return stdout
    .split(end)
    .map((output) => output.trim())
    .slice(0, -1);
}

it('the README keeps its word from the first command to the last', async () => {
  const [key, called, registered, counted, health, broken, closed, playbooks] = await outputs();
  expect(key).toBe('');
  expect(called).toMatch(/"tool":"disk_usage".*"status":"success".*"usedPercent":\d/);
  expect(registered).toMatch(/"name":"word_count".*"status":"active".*"healthStatus":"healthy"/);
  expect(counted).toMatch(
    /"status":"success","result":\{"words":6\}.*"code":"invalid_input".*"pointer":"\/input\/text"/s,
  );
  expect(health).toMatch(/"toolName":"word_count".*"issues":\["Insufficient data/);
  const answers = broken?.split('\n').filter(Boolean) ?? [];
  expect(answers.map((answer) => /"(tool_crashed|circuit_open)"|"state":"(\w+)"/.exec(answer)?.[0])).toEqual([
    ...Array<string>(5).fill('"tool_crashed"'),
    '"circuit_open"',
    '"state":"open"',
  ]);
  expect(closed?.match(/"words":2/g)).toHaveLength(3);
  expect(closed).toMatch(/"state":"closed"[^\n]*$/);
  expect(playbooks).toMatch(/"status":"success".*"total_results":[1-9]/);
});
