/** HTTP load by wrk (Debian: `apt-get install wrk`), which takes a tenth of the time of a generator in JavaScript. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('./load.lua', import.meta.url));

/**
 * @param target `{ url, body, wanted }`: every answer must be a 200 that holds the text `wanted`
 * @returns requests a second, p50 and p99 in ms, and the child's own CPU time a request in µs
 */
export async function load({ child, target: { url, body, wanted } }, connections, seconds) {
  const before = cpuMs(child.pid);
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, url];
  const env = { ...process.env, LOAD_BODY: JSON.stringify(body), LOAD_WANTED: wanted };
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
