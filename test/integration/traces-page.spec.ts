import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { attributeNames, dialects, kindNames } from '../../src/records/spans/ingest/attribute-names.js';

const page = readFileSync(join(__dirname, '..', '..', 'docs', 'agents', 'span-reference.md'), 'utf8');
/** Rows of the table below a heading, as cells. */
const tableBelow = (heading: string): string[][] => {
  const [, section = ''] = page.split(`\n### ${heading}\n`);
  const lines = section.split('\n').filter((line) => line.startsWith('|') || line.startsWith('#'));
  const end = lines.findIndex((line) => line.startsWith('#'));
  return (end < 0 ? lines : lines.slice(0, end)).slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
};
const listed = (names: readonly string[] = []): string => names.map((name) => `\`${name}\``).join('<br>');

describe('docs/agents/span-reference.md', () => {
  it('shows the attributes that are read, in their order', () => {
    const rows = Object.entries<Partial<Record<string, string>>>(attributeNames).map(([field, names]) => [
      field,
      ...dialects.map((dialect) => listed(names[dialect]?.split(' '))),
    ]);
    expect(tableBelow('Attributes')).toEqual(rows);
  });

  it('shows what makes a span a model call, a tool call or something else', () => {
    const kinds = ['llm', 'tool', 'agent', 'chain', 'other', 'outer', 'inner'];
    const rows = Object.entries<Partial<Record<string, string>>>(kindNames).map(([attribute, names]) => [
      attribute.includes(' ') ? attribute : `\`${attribute}\``,
      ...kinds.map((kind) => listed(names[kind]?.split(' '))),
    ]);
    expect(page).toContain(`|attribute|${kinds.join('|')}|`);
    expect(tableBelow('Kinds')).toEqual(rows);
  });

  it('says of when the prices are', () => {
    const prices = readFileSync(join(__dirname, '..', '..', 'model-prices.json'), 'utf8');
    const { asOf } = JSON.parse(prices) as { asOf: string };
    expect(page).toContain(`of ${asOf}`);
  });
});
