import { everyday, rememberingTerms, splitWords, termsOf } from './vocabulary.js';

describe('words', () => {
  it.each([
    ['OOMKilled', ['OOMKilled', 'OOM', 'Killed']],
    ['CrashLoopBackOff', ['CrashLoopBackOff', 'Crash', 'Loop', 'Back', 'Off']],
    ['exit code 137', ['exit', 'code', '137']],
    ['pg_wal/too-many', ['pg', 'wal', 'too', 'many']],
    ['x509', ['x509']],
    ['磁盘已满', ['磁盘', '盘已', '已满']],
    ['OOM错误，データ', ['OOM', '错误', 'デー', 'ータ']],
    ['満 disk', ['満', 'disk']],
    [' \n…!', []],
  ])('splits %p', (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });

  it('leaves out what says nothing, single characters and repetitions', () => {
    expect(termsOf('Please, the pods are failing and failing: 5 a', everyday)).toEqual(['pod', 'fail']);
  });

  it('knows short forms', () => {
    expect(termsOf('psql cert', everyday)).toEqual(termsOf('postgres certificates', everyday));
  });

  it('reads a text the same again', () => {
    const read = rememberingTerms(everyday);
    expect([read('the podsFail, pods'), read('the podsFail, pods')]).toEqual([
      ['podsfail', 'pod', 'fail', 'pod'],
      ['podsfail', 'pod', 'fail', 'pod'],
    ]);
  });
});
