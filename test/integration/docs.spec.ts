import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorTable } from '../../src/common/errors.js';
import { built } from '../support/built.js';

// real: the documents, the error table and the declaration of the settings; mock: nothing

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

const variables: readonly string[] = rowsOf('docs/configuration.md').map(([name = '']) => withoutTicks(name));

it('docs/agents/errors.md has the rows of the error table, no more, no fewer', () => {
  const documented = rowsOf('docs/agents/errors.md').map(([code, http, jsonRpc, title]) => ({
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

it('docs/agents/errors.md says of every code when it comes', () => {
  for (const cells of rowsOf('docs/agents/errors.md'))
    expect({ cells, when: cells[4] }).toMatchObject({ when: /\w.*\.$/.exec(cells[4] ?? '')?.input });
});

describe('docs/configuration.md', () => {
  const rows = rowsOf('docs/configuration.md');

  it('and docs/agents/errors.md name the same settings beyond which a request is rate_limited', () => {
    const limits = rows.flatMap(([name = '', , , meaning]) =>
      meaning?.includes('`rate_limited`') ? [name] : [],
    );
    const when = rowsOf('docs/agents/errors.md').find(([code]) => code === '`rate_limited`')?.[4] ?? '';
    expect(when.match(/`[A-Z_]+`/g)?.sort()).toEqual(limits.sort());
    expect(limits).toContain('`EVENTS_STREAMS`');
  });

  it('says that what a host cannot enforce is refused by default', () => {
    const [said] = /- \*\*Sandbox:[^-]+/.exec(read('docs/configuration.md')) ?? [''];
    expect(rows.find(([name]) => name === '`SANDBOX_POLICY`')?.[1]).toBe('`enforce`');
    expect(said).toMatch(/refused[^.]*`SANDBOX_POLICY=enforce`, the default/);
  });
});

it('.env.example and docs/configuration.md are as `npm run settings` writes them', () => {
  const script = join(built(), 'scripts', 'settings.mjs');
  expect(execFileSync(process.execPath, [script, '--check'], { encoding: 'utf8' })).toBe('');
});

it('there are at most 75 variables of our own', () => {
  const own = variables.filter((name) => !name.startsWith('OTEL_') && name !== 'DATABASE_URL');
  expect(new Set(own).size).toBe(own.length);
  expect(own.length).toBeLessThanOrEqual(75);
});

describe('the documents', () => {
  const paths = [
    'docs/tools/protocol.md',
    'docs/agents/errors.md',
    'docs/configuration.md',
    'docs/operate/security.md',
    'docs/operate/commands-and-secrets.md',
  ];

  it.each(paths)('%s names only variables that exist', (path) => {
    const named = [
      ...read(path).matchAll(/`((?:CUSTOM_TOOLS|TOOL|RECORDER|CIRCUIT|INVESTIGATION|DATABASE)_[A-Z_]+)`/g),
    ];
    const unknown = named.map((match) => match[1] ?? '').filter((name) => !variables.includes(name));
    expect(unknown).toEqual([]);
  });
});
