import { splitWords, termsOf } from './search-terms.js';

describe('search terms', () => {
  it.each([
    ['OOMKilled', ['OOMKilled', 'OOM', 'Killed']],
    ['CrashLoopBackOff', ['CrashLoopBackOff', 'Crash', 'Loop', 'Back', 'Off']],
    ['exit code 137', ['exit', 'code', '137']],
    ['pg_wal/too-many', ['pg', 'wal', 'too', 'many']],
    ['x509', ['x509']],
    [' \n…!', []],
  ])('splits %p', (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });

  it('meets a reason written in another way', () => {
    expect(termsOf('oom killed')).toEqual(expect.arrayContaining(termsOf('memory kill')));
    expect(termsOf('OOMKilled')).toEqual(expect.arrayContaining(termsOf('memory kill')));
  });

  it('leaves out what says nothing, single characters and repetitions', () => {
    expect(termsOf('Please help, the pods are failing and failing: 5 a')).toEqual(['pod', 'fail']);
  });

  it('knows short forms', () => {
    expect(termsOf('PostgreSQL cert')).toEqual(expect.arrayContaining(termsOf('postgres certificates')));
  });
});
