import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { errorTable } from '../../src/base/common/errors.js';
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
  const documented = rowsOf('docs/agents/errors.md').map(([code, http, jsonRpc]) => ({
    code,
    http,
    jsonRpc,
  }));
  const declared = Object.entries(errorTable).map(([code, { http, jsonRpc }]) => ({
    code: `\`${code}\``,
    http: String(http),
    jsonRpc: String(jsonRpc),
  }));
  expect(documented).toEqual(declared);
});

it('docs/agents/errors.md says of every code when it comes', () => {
  for (const cells of rowsOf('docs/agents/errors.md'))
    expect({ cells, when: cells[3] }).toMatchObject({ when: /\w.*\.$/.exec(cells[3] ?? '')?.input });
});

describe('docs/configuration.md', () => {
  const rows = rowsOf('docs/configuration.md');

  it('and docs/agents/errors.md name the same settings beyond which a request is rate_limited', () => {
    const limits = rows.flatMap(([name = '', , , meaning]) =>
      meaning?.includes('`rate_limited`') ? [name] : [],
    );
    const when = rowsOf('docs/agents/errors.md').find(([code]) => code === '`rate_limited`')?.[3] ?? '';
    expect(when.match(/`[A-Z_]+`/g)?.sort()).toEqual(limits.sort());
    expect(limits).toContain('`CALLS_PER_ADDRESS`');
  });

  it('says that what a host cannot enforce is refused by default', () => {
    expect(rows.find(([name]) => name === '`SANDBOX`')?.[1]).toBe('`enforce`');
    expect(read('docs/operate/sandbox-host.md')).toMatch(/^\| `enforce` \(default\) \| [^|]*refused/m);
  });
});

it('.env.example and docs/configuration.md are as `npm run settings` writes them', () => {
  const script = join(built(), 'scripts', 'settings.mjs');
  expect(execFileSync(process.execPath, [script, '--check'], { encoding: 'utf8' })).toBe('');
});

it('there are at most 74 variables of our own', () => {
  const own = variables.filter((name) => !name.startsWith('OTEL_') && name !== 'DATABASE_URL');
  expect(new Set(own).size).toBe(own.length);
  expect(own.length).toBeLessThanOrEqual(74);
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
    const known = [...variables, 'CUSTOM_TOOLS_SANDBOX_ENABLED'];
    const unknown = named.map((match) => match[1] ?? '').filter((name) => !known.includes(name));
    expect(unknown).toEqual([]);
  });
});

describe('links and paths', () => {
  const rooms = ['docs', 'src', 'console/src', 'scripts', 'bin', 'test', 'tools', 'docker', 'native', '.ci'];
  const files = rooms.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(?:ts|tsx|mjs|json|md|py|sh)$|^[^.]+$/.test(entry.name))
      .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
      .filter(
        (path) => !/node_modules|openapi\.json|^src\/client|^tools\/installed\/\.|\/target\//.test(path),
      ),
  );
  const atTop = readdirSync(root).filter((name) => name.endsWith('.md'));
  const pages = [...atTop, ...files.filter((path) => /^docs\/.*\.md$/.test(path))];
  const withoutCode = (path: string): string => read(path).replace(/```[^]*?```/g, '');
  /** The anchors of a page, as GitHub makes them of its headings. */
  const anchorsOf = (path: string): string[] =>
    [...withoutCode(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    );

  it.each(pages)('every link of %s leads somewhere', (page) => {
    const links = [...withoutCode(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, href = '']) => href);
    const dead = links.filter((href) => {
      if (/^[a-z]+:/.test(href)) return false;
      const [path = '', anchor] = href.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      return !existsSync(join(root, target)) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });
    expect(dead).toEqual([]);
  });

  it('every page that code, settings and messages name exists', () => {
    const named = [...files, '.env.example'].flatMap((path) =>
      [...read(path).matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([page]) => page),
    );
    expect([...new Set(named)].filter((page) => !existsSync(join(root, page)))).toEqual([]);
    expect(named).toContain('docs/operate/sandbox.md');
  });

  it('every page is linked from the README, or from a page that is', () => {
    const seen = new Set<string>();
    const visit = (page: string): void => {
      if (seen.has(page) || !existsSync(join(root, page))) return;
      seen.add(page);
      for (const [, path = ''] of withoutCode(page).matchAll(/\]\(([^)\s#:]+\.md)/g))
        visit(join(dirname(page), path));
    };
    visit('README.md');
    expect(pages.filter((page) => page.startsWith('docs/') && !seen.has(page))).toEqual([]);
  });
});
