import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { whenQuiet } from './pipe-quiet.js';
import type { LaunchedProcess } from './tool-process.types.js';

const pipes = () => {
  const child = { stdout: new PassThrough(), stderr: new PassThrough() };
  const heard: string[] = [];
  child.stdout.on('data', (chunk: Buffer) => heard.push(chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => heard.push(chunk.toString()));
  const quiet = new Promise<number>((resolve) => {
    whenQuiet(child as unknown as LaunchedProcess, () => resolve(heard.length));
  });
  return { ...child, quiet };
};

describe('whenQuiet', () => {
  it('waits for what still comes, on either pipe', async () => {
    const { stdout, stderr, quiet } = pipes();
    for (const each of [stdout, stderr, stdout, stderr, stdout]) {
      each.write('more');
      await turn();
    }
    expect(await quiet).toBe(5);
  });

  it('waits no longer for pipes that have ended', async () => {
    const { stdout, stderr, quiet } = pipes();
    stdout.end('last');
    stderr.end();
    expect(await quiet).toBe(1);
  });

  it('does not wait for ever for somebody who goes on writing', async () => {
    const { stdout, quiet } = pipes();
    let done = false;
    void quiet.then(() => (done = true));
    while (!done) {
      stdout.write('x');
      await turn();
    }
    expect(await quiet).toBeGreaterThan(100);
    expect(stdout.listenerCount('data')).toBe(1);
  });
});
