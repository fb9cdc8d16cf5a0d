import { queriesIn } from './web-search.js';

it.each<[string, string, string[]]>([
  ['one query', 'disk full', ['disk full']],
  ['a phrase in quotes, which the search engine knows', '"disk full" linux', ['"disk full" linux']],
  ['a line break', 'disk\n full', ['disk full']],
  ['bullets', '- disk full\n* oom\n• "exact words" because\n', ['disk full', 'oom', 'exact words']],
  ['numbers', '1. disk full\n2) oom', ['disk full', 'oom']],
  ['talk around a list', 'I look for:\n\n- oom\nThat is all.', ['oom']],
  ['the same twice', '- oom\n- oom', ['oom']],
  ['a number that is no bullet', '2024 disk prices', ['2024 disk prices']],
  ['an empty bullet', '- \n- oom', ['oom']],
])('reads %s', (_what, text, queries) => {
  expect(queriesIn(text)).toEqual(queries);
});
