import { brokenRule } from './hints.js';

it.each([
  ['SIGSYS', 159, /system call/],
  ['SIGXFSZ', 153, /larger file/],
] as const)(
  '%s tells which rule was broken, through a program around the tool as well',
  (signal, exitCode, rule) => {
    expect(brokenRule({ exitCode: null, signal }, false)).toMatch(rule);
    expect(brokenRule({ exitCode: null, signal }, true)).toMatch(rule);
    expect(brokenRule({ exitCode, signal: null }, true)).toMatch(rule);
    // Nothing stands around it: the code is the tool's own.
    expect(brokenRule({ exitCode, signal: null }, false)).toBeUndefined();
  },
);

it('other ends are none of the sandbox', () => {
  for (const end of [{ signal: 'SIGSEGV' }, { exitCode: 1 }, { exitCode: 137, signal: null }, {}]) {
    expect(brokenRule(end, true)).toBeUndefined();
  }
});
