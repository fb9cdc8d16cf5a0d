import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '../../../test/fixtures/tools/pool-lab.js';
import { commandLineOf } from '../../base/common/process-identity.js';
import { residentBytes } from './memory-watch.js';

describe('residentBytes', () => {
  it('counts a process and everything below it', async () => {
    const child = spawn('sh', [
      '-c',
      '"$0" -e "console.log(1); process.stdin.resume()"; exit',
      process.execPath,
    ]);
    const ended = once(child, 'exit');
    await once(child.stdout, 'data');
    // The shell is small; Node below it is not.
    expect(residentBytes(child.pid ?? 0)).toBeGreaterThan(20_000_000);
    child.stdin.end();
    await ended;
    await eventually(() => residentBytes(child.pid ?? 0) === undefined);
  });

  it('is unknown for a process that is gone', () => {
    expect(residentBytes(2 ** 22 + 1)).toBeUndefined();
  });

  it('is nothing for one that has ended and was not waited for', async () => {
    const parent = spawn('sh', ['-c', 'exec 3<&0; cat <&3 & echo $!; exec sleep 60']);
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const dead = Number(line.toString());
    // Nobody waits for it once the shell is gone: it stays as a zombie until its parent ends.
    await eventually(() => commandLineOf(parent.pid ?? 0)[0] === 'sleep');
    parent.stdin.end();
    try {
      await eventually(() => residentBytes(dead) === 0);
    } finally {
      parent.kill('SIGKILL');
    }
    await once(parent, 'exit');
  });
});
