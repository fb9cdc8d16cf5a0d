import {
  count,
  flag,
  moment,
  oneOf,
  parseSearch,
  searchParams,
  stringifySearch,
  text,
} from './search-params.js';

const read = searchParams({ q: text, status: oneOf('error', 'timeout'), slowMs: count, follow: flag });

it('comes back as it went out, whatever is in it', () => {
  const search = { q: 'a & b=ü "42"\n<script>', status: 'error' as const, slowMs: 0, follow: true as const };
  expect(read(parseSearch(stringifySearch(search)))).toEqual(search);
});

it('keeps an id of digits a text, and writes it as it is', () => {
  expect(stringifySearch({ q: '42' })).toBe('?q=42');
  expect(read(parseSearch('?q=42'))).toEqual({ q: '42' });
});

it('leaves out what has no value, what is unknown and what is not allowed', () => {
  expect(stringifySearch({ q: '', status: undefined, follow: null })).toBe('');
  expect(read(parseSearch('?q=&status=lost&slowMs=-1&follow=yes&other=1'))).toEqual({});
  expect(read({ slowMs: '1e999' })).toEqual({});
});

it('reads a moment, however it is written', () => {
  const at = searchParams({ since: moment });
  expect(at({ since: '2026-01-23T10:30:00+01:00' })).toEqual({ since: '2026-01-23T09:30:00.000Z' });
  expect(at({ since: 'yesterday' })).toEqual({});
});
