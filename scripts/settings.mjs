/**
 * `npm run settings`: writes .env.example and the tables of docs/configuration.md from the declarations in
 * src/base/config/settings.ts. With --check it writes nothing, names what is not current and exits with 1.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Setting } from '../dist/src/base/config/setting.js';
import { sections } from '../dist/src/base/config/settings.js';

const root = new URL('..', import.meta.url);
const read = (path) => readFileSync(new URL(path, root), 'utf8');

/** Settings of a tree, in the order in which they are declared. */
const settingsIn = (tree) =>
  tree instanceof Setting
    ? [tree]
    : tree !== null && typeof tree === 'object'
      ? Object.values(tree).flatMap(settingsIn)
      : [];

/** The page of a link, for a file that has no links. */
const pathOf = (_link, text, page) => (text.endsWith('.md') ? `docs/${page}` : `${text} (docs/${page})`);

const example = [
  '# Every variable of Toolkeeper with its default (docs/configuration.md says more); written by `npm run settings`.',
  '# Copy to .env, take the # away where a value shall differ, start with:',
  '#   npm run build && node_modules/.bin/node --env-file=.env dist/src/main.js',
];
let page = read('docs/configuration.md');
for (const [title, tree] of Object.entries(sections)) {
  const rows = ['| variable | default | must be | meaning |', '|---|---|---|---|'];
  example.push('', `# --- ${title} ---`);
  for (const { variable, fallback, kind, meaning } of settingsIn(tree)) {
    const words = /^`[^`]*`(?: or `[^`]*`)+$/.test(kind.accepts);
    const range = kind.accepts
      .replace(/^a (?:whole )?number from (\S+) to (\S+)$/, '$1–$2')
      .replace(', comma-separated', '');
    const accepts = words ? range.replaceAll(' or ', ', ') : range;
    rows.push(`| \`${variable}\` | ${fallback ? `\`${fallback}\`` : '–'} | ${accepts} | ${meaning} |`);
    const plain = meaning.replace(/\[([^\]]+)\]\(([^)#]+)[^)]*\)/g, pathOf).replaceAll('`', '');
    example.push(`# ${plain}`, `# ${variable}=${fallback ?? ''}`);
  }
  // The heading, its introduction and the table, with the empty lines around them.
  const section = new RegExp(`\n+## ${title}\n\n((?:[^|#\n].*\n|\n)*)(?:\\|.*\n)*\n*`);
  if (!section.test(page)) throw new Error(`docs/configuration.md has no heading "## ${title}"`);
  page = page.replace(section, (_all, introduction) =>
    ['', `## ${title}`, introduction.trim(), rows.join('\n'), '']
      .filter((part, at) => at !== 2 || part)
      .join('\n\n'),
  );
}

const written = { '.env.example': `${example.join('\n')}\n`, 'docs/configuration.md': `${page.trimEnd()}\n` };
for (const [path, text] of Object.entries(written)) {
  if (read(path) === text) continue;
  if (!process.argv.includes('--check')) writeFileSync(new URL(path, root), text);
  else {
    process.stdout.write(`${path} is not current: npm run settings\n`);
    process.exitCode = 1;
  }
}
