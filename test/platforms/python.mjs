import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

const { agentsPageBlock } = await import('../support/agents-page.ts');

const ofPage = join(import.meta.dirname, 'requirements.txt');
const homeOf = (requirements) =>
  join(import.meta.dirname, 'node_modules', `.python-${basename(requirements, '.txt')}`);
/** The Python that has the packages of a file. */
export const pythonOf = (requirements) => join(homeOf(requirements), 'bin', 'python');
export const python = pythonOf(ofPage);

export const noVenv =
  'NOT RUN: the Python code of docs/agents/connect.md needs python3 (3.10 or newer) with venv and pip';

/** Installs packages beside the other platforms' clients. @returns their versions; undefined where there is no venv */
export function installPython(requirements = ofPage) {
  const home = homeOf(requirements);
  const wanted = readFileSync(requirements, 'utf8');
  const mark = join(home, `installed-${createHash('sha256').update(wanted).digest('hex').slice(0, 16)}`);
  if (!existsSync(mark)) {
    try {
      execFileSync('python3', ['-c', 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))']);
    } catch {
      console.error(noVenv);
      return undefined;
    }
    rmSync(home, { recursive: true, force: true });
    execFileSync('python3', ['-m', 'venv', home], { stdio: 'inherit' });
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
    execFileSync(pythonOf(requirements), install, { stdio: 'inherit' });
    writeFileSync(mark, '');
  }
  return wanted.trim().replaceAll('\n', ', ');
}

/**
 * Runs a block of the page as it stands there, in a process of its own.
 * @param before what the page takes for granted @param after what follows; it prints what the test looks at
 */
export async function runPythonPage(which, { url, key, before = '', after }) {
  const indented = [before, agentsPageBlock(which, url), after]
    .map((code) => `${code.trim()}\n`)
    .join('')
    .replaceAll(/^/gm, '    ');
  const granted = `url, headers = ${JSON.stringify(url)}, ${JSON.stringify(key)}`;
  const code = `import asyncio\n\nasync def main():\n    ${granted}\n${indented}\nasyncio.run(main())\n`;
  const env = { ...process.env, OPENAI_API_KEY: 'none', OPENAI_AGENTS_DISABLE_TRACING: '1' };
  const { stdout } = await promisify(execFile)(python, ['-c', code], { env, timeout: 100_000 });
  return stdout.trim();
}
