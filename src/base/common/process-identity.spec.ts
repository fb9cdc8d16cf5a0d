import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { until } from '../../../test/support/wait.js';
import { commandLineOf, identityOf, lives } from './process-identity.js';

describe('process identity', () => {
  it('is the same each time for one process, and lives while it runs', async () => {
    const child = spawn('sleep', ['60']);
    const identity = identityOf(child.pid ?? 0) ?? '';
    expect(identity).toMatch(/^\d+-\d+$/);
    expect(identityOf(child.pid ?? 0)).toBe(identity);
    expect(lives(identity)).toBe(true);
    expect(commandLineOf(child.pid ?? 0).slice(0, 2)).toEqual(['sleep', '60']);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(lives(identity)).toBe(false);
    expect(identityOf(child.pid ?? 0)).toBeUndefined();
    expect(commandLineOf(child.pid ?? 0)).toEqual(['']);
  });

  it('has ended as a zombie, which nobody waited for', async () => {
    const child = spawn('sh', ['-c', 'true & echo $!; exec sleep 60'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const grandchild = Number(line.toString());
    await until(() => identityOf(grandchild) === undefined, { what: 'the end of the grandchild' });
    expect(commandLineOf(grandchild)).toEqual(['']);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(identityOf(child.pid ?? 0)).toBeUndefined();
  });

  it('does not take another process with the same pid for the one that had it', () => {
    expect(lives(`${process.pid}-1`)).toBe(false);
  });

  it('reads a name that holds brackets and spaces', async () => {
    const child = spawn('sh', ['-c', 'printf "a) Z 1" > /proc/$$/comm; echo; read line'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    expect(identityOf(child.pid ?? 0)).toMatch(/^\d+-\d{2,}$/);
    child.stdin.end();
    await once(child, 'exit');
  });

  it.each(['', 'nonsense', '-1-5', '0'])('%p is no living process', (identity) =>
    expect(lives(identity)).toBe(false),
  );
});
