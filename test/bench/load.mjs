/** HTTP load by wrk (Debian: `apt-get install wrk`), which takes a tenth of the time of a generator in JavaScript. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('./load.lua', import.meta.url));

/**
 * @param target `{ url, body, wanted, sessions? }`: every answer must be a 200 that holds the text `wanted`; for `sessions`
 *   see load.lua
 * @returns requests a second, p50 and p99 in ms, and the child's own CPU time a request in µs
 */
export async function load({ child, target: { url, body, wanted, sessions = [] } }, connections, seconds) {
  const before = cpuMs(child.pid);
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, url];
  const own = { LOAD_BODY: JSON.stringify(body), LOAD_WANTED: wanted, LOAD_SESSIONS: sessions.join(' ') };
  const env = { ...process.env, ...own };
  const wrk = spawn('wrk', args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  wrk.stdout.on('data', (chunk) => (output += chunk));
  await once(wrk, 'close');
  const cpu = cpuMs(child.pid) - before;
  const [line, example] = output.slice(output.lastIndexOf('\n{"answers"') + 1).split('\n', 2);
  const { answers, us, wrong, lost, p50, p99 } = JSON.parse(line);
  if (wrong + lost > 0) throw new Error(`${url}: ${lost} lost, ${wrong} wrong answers, such as ${example}`);
  return { cpuUs: (cpu * 1_000) / answers, rps: (answers * 1e6) / us, p50, p99 };
}

/** User and system time of a process; the kernel counts in hundredths of a second. */
function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Memory of a process alone, and of it with all that it started, in MB; what several share counts once. */
export function memory({ pid }) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const parents = new Map(pids.map((each) => [each, /^PPid:\s+(\d+)/m.exec(proc(each, 'status'))?.[1]]));
  const isOurs = (each) => each === String(pid) || (parents.has(each) && isOurs(parents.get(each)));
  const of = (each) => megabytes(proc(each, 'smaps_rollup'), 'Pss');
  return { own: of(pid), all: pids.filter(isOurs).reduce((sum, each) => sum + of(each), 0) };
}

const megabytes = (text, field) =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0) / 1_024;

/** @returns nothing of a process that has ended meanwhile */
function proc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
