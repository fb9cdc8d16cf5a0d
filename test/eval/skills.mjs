/**
 * `node test/eval/skills.mjs`: two choosers of playbooks, by words alone. One reads the list of skills and nothing else,
 * the other one what `get_playbooks` shows. Both take the best that reaches the threshold, or none.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { LexicalRanker } from '../../dist/src/agents/playbook-search/ranking/lexical.ranker.js';
import { skillOf } from '../../dist/src/agents/playbooks/playbook-skills.js';

const threshold = 0.7;
const here = fileURLToPath(new URL('.', import.meta.url));
const read = (path) => parse(readFileSync(here + path, 'utf8'));
const complete = (playbook) => ({
  labels: {},
  signals: [],
  aliases: [],
  when_to_use: null,
  content: '',
  ...playbook,
});
const sets = {
  rich: [
    readdirSync(`${here}../../playbooks`).map((file) => read(`../../playbooks/${file}`)),
    'queries.yaml',
  ],
  plain: [read('plain/playbooks.yaml'), 'plain/queries.yaml'],
};

/** A skill as a chooser sees it: its name and its description. */
function listed(playbook) {
  const { name, description } = skillOf(playbook).frontmatter;
  return complete({ playbook_id: playbook.playbook_id, name, description });
}

const table = {};
for (const [set, [files, queries]] of Object.entries(sets)) {
  const playbooks = files.map(complete);
  const choosers = { 'list of skills': playbooks.map(listed), get_playbooks: playbooks };
  for (const [chooser, seen] of Object.entries(choosers)) {
    const ranking = await new LexicalRanker().prepare(seen);
    const count = {
      queries: 0,
      'entries shown': 0,
      right: 0,
      wrong: 0,
      none: 0,
      'off-topic': 0,
      answered: 0,
    };
    for (const { text, kind, relevant } of read(queries)) {
      const request = { query: text, threshold, limit: 5 };
      const found = (await ranking.rank(request, new Set(seen.map((each) => each.playbook_id)))).playbooks;
      const chosen = found[0]?.playbookId;
      count.queries += 1;
      count['entries shown'] += chooser === 'get_playbooks' ? found.length : seen.length;
      if (kind === 'off-topic') {
        count['off-topic'] += 1;
        if (chosen !== undefined) count.answered += 1;
      } else count[chosen === undefined ? 'none' : relevant.includes(chosen) ? 'right' : 'wrong'] += 1;
    }
    table[`${set}, ${chooser}`] = count;
  }
}
console.table(table);
