import { execFileSync, spawn } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';

const version = '0.45.0';
const home = join(import.meta.dirname, 'node_modules', '.holmes');
const python = join(home, 'bin', 'python');
/** What HolmesGPT runs on. */
const fits = 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))';

/** Installs HolmesGPT beside the other platforms' clients. @returns false where there is no Python for it */
export function installHolmes() {
  const mark = join(home, `holmesgpt-${version}`);
  if (existsSync(mark)) return true;
  try {
    execFileSync('python3', ['-c', fits], { stdio: 'ignore' });
  } catch {
    return false;
  }
  rmSync(home, { recursive: true, force: true });
  execFileSync('python3', ['-m', 'venv', home], { stdio: 'inherit' });
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `holmesgpt==${version}`];
  execFileSync(python, install, { stdio: 'inherit' });
  writeFileSync(mark, '');
  return true;
}

export const noPython = 'HolmesGPT needs Python 3.10 to 3.13 with venv and pip: nothing was asked of it';

/** Runs ask_holmes.py. @returns what it printed */
export async function askHolmes(asked, variables = {}) {
  const child = spawn(python, [join(import.meta.dirname, 'ask_holmes.py')], {
    env: { ...process.env, HOME: home, ...variables },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(JSON.stringify(asked));
  const [said, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  try {
    return JSON.parse(said);
  } catch {
    throw new Error(`HolmesGPT said no JSON: ${said}\n${errors}`);
  }
}
