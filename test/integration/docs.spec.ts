import { getMetadataStorage } from 'class-validator';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorTable } from '../../src/common/errors.js';
import { Environment } from '../../src/config/environment.js';

// real: the documents, the error table and the environment's declaration; mock: nothing

const root = join(__dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const withoutTicks = (cell: string): string => cell.replaceAll('`', '');

/** The cells of every table row whose first cell is one word in code style. */
function rowsOf(path: string): string[][] {
  return read(path)
    .split('\n')
    .filter((line) => /^\| `\w+` \|/.test(line))
    .map((line) =>
      line
        .slice(2, -2)
        .split(' | ')
        .map((cell) => cell.trim()),
    );
}

/** Every variable with its default as text; `undefined`: it may be left unset. */
function variables(): Map<string, string | undefined> {
  const defaults = { ...new Environment() } as Record<string, string | number | boolean | undefined>;
  const declared = validations().map(({ propertyName }) => propertyName);
  return new Map(
    [...new Set([...Object.keys(defaults), ...declared])]
      .sort()
      .map((name) => [name, defaults[name] === undefined ? undefined : String(defaults[name])]),
  );
}

const validations = () => getMetadataStorage().getTargetValidationMetadatas(Environment, '', false, false);

/** The smallest and the largest value that a number may have. */
function boundsOf(name: string): readonly [number, number] | undefined {
  const bound = (kind: string): number | undefined =>
    validations().find((rule) => rule.propertyName === name && rule.name === kind)?.constraints?.[0] as
      number | undefined;
  const [min, max] = [bound('min'), bound('max')];
  return min === undefined || max === undefined ? undefined : [min, max];
}

/** The words that a variable may have as its value. */
function choicesOf(name: string): readonly string[] | undefined {
  const rules = validations().filter((rule) => rule.propertyName === name);
  const choice = rules.find((rule) => rule.name === 'isIn')?.constraints?.[0] as
    readonly string[] | undefined;
  return choice ?? (rules.some((rule) => rule.name === 'isBoolean') ? ['true', 'false'] : undefined);
}

it('docs/errors.md has the rows of the error table, no more, no fewer', () => {
  const documented = rowsOf('docs/errors.md').map(([code, http, jsonRpc, title]) => ({
    code,
    http,
    jsonRpc,
    title,
  }));
  const declared = Object.entries(errorTable).map(([code, { http, jsonRpc, title }]) => ({
    code: `\`${code}\``,
    http: String(http),
    jsonRpc: String(jsonRpc),
    title,
  }));
  expect(documented).toEqual(declared);
});

it('docs/errors.md says of every code when it comes', () => {
  for (const cells of rowsOf('docs/errors.md'))
    expect({ cells, when: cells[4] }).toMatchObject({ when: /\w.*\.$/.exec(cells[4] ?? '')?.input });
});

describe('docs/configuration.md', () => {
  const rows = rowsOf('docs/configuration.md');

  it('and docs/errors.md name the same settings beyond which a request is rate_limited', () => {
    const limits = rows.flatMap(([name = '', , , meaning]) =>
      meaning?.includes('`rate_limited`') ? [name] : [],
    );
    const when = rowsOf('docs/errors.md').find(([code]) => code === '`rate_limited`')?.[4] ?? '';
    expect(when.match(/`[A-Z_]+`/g)?.sort()).toEqual(limits.sort());
    expect(limits).toContain('`EVENTS_STREAMS`');
  });

  it('says that what a host cannot enforce is refused by default', () => {
    const [said] = /- \*\*Sandbox:[^-]+/.exec(read('docs/configuration.md')) ?? [''];
    expect(variables().get('SANDBOX_POLICY')).toBe('enforce');
    expect(said).toMatch(/refused[^.]*`SANDBOX_POLICY=enforce`, the default/);
  });

  it('lists each variable once, with its default', () => {
    const documented = rows.map(([name = '', fallback = '']) => [
      withoutTicks(name),
      fallback === 'not set' ? undefined : withoutTicks(fallback),
    ]);
    expect(documented.sort()).toEqual([...variables()]);
  });

  it.each(rows.map(([name = '', , bounds = '', meaning = '']) => [withoutTicks(name), bounds, meaning]))(
    '%s: has the bounds that are checked, and a meaning',
    (name, bounds, meaning) => {
      const range = boundsOf(name);
      const choices = choicesOf(name);
      if (range) expect(bounds).toBe(`${range[0]} to ${range[1]}`);
      else if (choices) expect(withoutTicks(bounds)).toBe(choices.join(', '));
      else expect(bounds).toMatch(/text|URL/);
      expect(meaning).toMatch(/\w.*[.…]$/);
    },
  );
});

describe('.env.example', () => {
  const lines = read('.env.example').split('\n');
  const assignments = lines.flatMap((line) => /^# ([A-Z][A-Z0-9_]+)=(.*)$/.exec(line)?.slice(1) ?? []);

  it('lists each variable once, commented out, with its default', () => {
    const pairs = assignments.flatMap((name, i) =>
      i % 2 === 0 ? [[name, assignments[i + 1] || undefined]] : [],
    );
    expect(pairs.sort()).toEqual([...variables()]);
    expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([]);
  });

  it('has one line of comment above each variable', () => {
    const lacking = lines.filter(
      (line, i) => /^# [A-Z][A-Z0-9_]+=/.test(line) && !/^# [^\n=]*\w/.test(lines[i - 1] ?? ''),
    );
    expect(lacking).toEqual([]);
  });
});

describe('the documents', () => {
  const paths = ['docs/protocol.md', 'docs/errors.md', 'docs/configuration.md', 'docs/security.md'];

  it.each(paths)('%s names only variables that exist', (path) => {
    const named = [
      ...read(path).matchAll(/`((?:CUSTOM_TOOLS|TOOL|RECORDER|CIRCUIT|INVESTIGATION|DATABASE)_[A-Z_]+)`/g),
    ];
    const unknown = named.map((match) => match[1] ?? '').filter((name) => !variables().has(name));
    expect(unknown).toEqual([]);
  });
});
