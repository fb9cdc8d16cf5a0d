import { Failures, type FoundTool, type Step, stepFor } from './reconciliation.js';

const running = { isOfRow: true, hasChangedFiles: false, processes: 1, retriesByItself: false };
const well: FoundTool = {
  row: { status: 'active', healthStatus: 'healthy' },
  running,
  mayTry: true,
  checks: false,
};
const broken = { row: { status: 'error', healthStatus: 'unhealthy' } } as const;
const ill = { row: { status: 'active', healthStatus: 'unhealthy' } } as const;
const inactive = { row: { status: 'inactive', healthStatus: 'unknown' } } as const;
const changed = { running: { ...running, hasChangedFiles: true } };
const cold = { running: { ...running, processes: 0 } };

describe('what a round does about a tool', () => {
  it.each<[string, Partial<FoundTool>, Step | undefined]>([
    ['that runs as its row and files say', {}, undefined],
    ['that is not loaded', { running: undefined }, 'load'],
    ['that was not loaded in vain a short while ago', { running: undefined, mayTry: false }, undefined],
    ['of which another revision runs', { running: { ...running, isOfRow: false } }, 'load'],
    ['that was removed', { row: undefined }, 'load'],
    ['that was removed and does not run', { row: undefined, running: undefined }, undefined],
    ['that was disabled', inactive, 'load'],
    ['that is disabled and does not run', { ...inactive, running: undefined }, undefined],
    ['whose files changed', changed, 'testStart'],
    ['whose changed files were no tool a short while ago', { ...changed, mayTry: false }, undefined],
    ['that is broken', broken, 'testStart'],
    [
      'that is broken, even if it is loaded as it should be and was tried',
      { ...broken, mayTry: false },
      undefined,
    ],
    ['whose pool tries by itself', { ...broken, running: { ...running, retriesByItself: true } }, undefined],
    ['that could not be prepared here', { running: { ...running, processes: undefined } }, 'testStart'],
  ])('%s', (_what, change, step) => expect(stepFor({ ...well, ...change })).toBe(step));

  it.each<[string, Partial<FoundTool>, Step | undefined]>([
    ['with a process', {}, 'ping'],
    ['with a process, though it was unhealthy', ill, 'ping'],
    ['without a process', cold, 'checkFiles'],
    ['without a process that was unhealthy', { ...ill, ...cold }, 'retry'],
    [
      'of which an older revision goes on',
      { running: { ...running, isOfRow: false }, mayTry: false },
      'ping',
    ],
    ['whose changed files were no tool', { ...changed, mayTry: false }, 'ping'],
    ['whose files changed just now', changed, 'testStart'],
    ['that is broken', { ...broken, mayTry: false }, undefined],
    ['that is disabled', { ...inactive, running: undefined }, undefined],
  ])('when it checks: one %s', (_what, change, step) =>
    expect(stepFor({ ...well, checks: true, ...change })).toBe(step),
  );
});

describe('what was tried in vain', () => {
  const pauses = { firstMs: 100, maxMs: 1_000 };

  it('is tried again after pauses that double up to the longest', () => {
    const failures = new Failures();
    expect(failures.mayTry('a', 'one', 0)).toBe(true);
    const waited: number[] = [];
    let now = 5;
    for (let n = 0; n < 6; n++) {
      expect(failures.add('a', 'one', pauses, now)).toBe(n === 0);
      let pause = 0;
      while (!failures.mayTry('a', 'one', now + pause)) pause += 50;
      waited.push(pause);
      now += pause;
    }
    expect(waited).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  it('does not keep back something else, another tool, or what was forgotten', () => {
    const failures = new Failures();
    for (const tool of ['a', 'a', 'b', 'c']) failures.add(tool, 'one', pauses, 0);
    expect(failures.mayTry('a', 'one', 199)).toBe(false);
    expect(failures.mayTry('a', 'two', 0)).toBe(true);
    expect(failures.add('a', 'two', pauses, 0)).toBe(true);
    expect(failures.mayTry('a', 'two', 100)).toBe(true);
    expect(failures.mayTry('b', 'one', 99)).toBe(false);
    failures.forget('b');
    expect(failures.mayTry('b', 'one', 0)).toBe(true);
    failures.retain(new Set(['a']));
    expect(failures.mayTry('c', 'one', 0)).toBe(true);
    expect(failures.mayTry('a', 'two', 99)).toBe(false);
  });

  it('is never put off for ever', () => {
    const failures = new Failures();
    for (let n = 0; n < 5_000; n++) failures.add('a', 'one', pauses, 0);
    expect(failures.mayTry('a', 'one', 1_000)).toBe(true);
  });
});
