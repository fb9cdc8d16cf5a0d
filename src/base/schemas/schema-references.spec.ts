import { partAt } from './schema-references.js';

const root = { $defs: { 'a/b': 1, 'ü x': 2, '~': 3 }, anyOf: [{ type: 'null' }] };

it.each([
  ['#', root],
  ['#/$defs/a~1b', 1],
  ['#/$defs/%C3%BC%20x', 2],
  ['#/$defs/a%2Fb', 1],
  ['#/$defs/~0', 3],
  ['#/anyOf/0/type', 'null'],
  ['#/$defs/none', undefined],
  ['#/$defs/none/deeper', undefined],
  ['#/__proto__', undefined],
  ['#/$defs/toString', undefined],
  ['https://example.com/#/$defs', undefined],
  [7, undefined],
])('%s names a part of the same schema, or none', (reference, part) => {
  expect(partAt(root, reference)).toBe(part);
});
