/**
 * `npm run eval:playbooks`: how well the sample catalogue's playbooks are found by words alone and, where EMBEDDINGS_URL
 * and EMBEDDINGS_MODEL name an endpoint, by vectors alone and by both.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { loadConfig } from '../../dist/src/config/app-config.js';
import { EmbeddingsEndpoint } from '../../dist/src/playbook-search/embeddings/embeddings-endpoint.js';
import { calibrationAt } from '../../dist/src/playbook-search/embeddings/playbook-embeddings.js';
import { BlendedRanker } from '../../dist/src/playbook-search/ranking/blended.ranker.js';
import { calibrated } from '../../dist/src/playbook-search/ranking/calibration.js';
import { LexicalRanker } from '../../dist/src/playbook-search/ranking/lexical.ranker.js';
import { middleOf, passagesOf } from '../../dist/src/playbook-search/ranking/passages.js';
import { playbookKey } from '../../dist/src/playbook-search/semantic-search.js';
import { measured } from './measures.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const threshold = 0.7;
const read = (...path) => parse(readFileSync(join(root, ...path), 'utf8'));
const queries = read('test', 'eval', 'queries.yaml');
const playbooks = readdirSync(join(root, 'playbooks'))
  .sort()
  .map((file) => ({ labels: {}, signals: [], aliases: [], when_to_use: null, ...read('playbooks', file) }));
const everything = new Set(playbooks.map(({ playbook_id }) => playbook_id));

await report('words alone', await new LexicalRanker().prepare(playbooks));
const { embeddings } = loadConfig();
if (embeddings) {
  const endpoint = new EmbeddingsEndpoint(embeddings);
  const meaning = await semanticsOf(endpoint, calibrationAt(embeddings.cut));
  await report(`${endpoint.id} (cut ${embeddings.cut}): vectors alone`, vectorsAlone(meaning));
  const blended = await new BlendedRanker(new LexicalRanker(), meaning).prepare(playbooks);
  await report(`${endpoint.id}: words and vectors`, blended);
  await endpoint.close();
}

async function report(title, ranking) {
  const rankings = [];
  for (const query of queries) {
    const request = { query: query.text, threshold: 0, limit: 10, labels: {}, explain: true };
    rankings.push((await ranking.rank(request, everything)).playbooks);
  }
  process.stdout.write(`\n${title}\n`);
  console.table(measured(queries, rankings, threshold));
}

/** What the server keeps in a database, in memory: the vectors of the playbooks and of each query. */
async function semanticsOf(endpoint, calibration) {
  const vectors = new Map();
  for (const playbook of playbooks) {
    vectors.set(playbookKey(playbook), middleOf(await endpoint.embed(passagesOf(playbook), 'document')));
  }
  const asked = new Map();
  return {
    revision: '',
    follow: () => undefined,
    scores: async (query, candidates) => {
      if (!asked.has(query)) asked.set(query, (await endpoint.embed([query], 'document'))[0]);
      const vector = asked.get(query);
      const cosines = new Map(candidates.map((key) => [key, dot(vector, vectors.get(key))]));
      return { calibration, cosines, degraded: undefined };
    },
  };
}

function vectorsAlone(meaning) {
  const ids = new Map(playbooks.map((playbook) => [playbookKey(playbook), playbook.playbook_id]));
  return {
    rank: async ({ query }) => {
      const { cosines, calibration } = await meaning.scores(query, [...ids.keys()]);
      const ranked = [...cosines].map(([key, cosine]) => ({
        playbookId: ids.get(key),
        confidence: calibrated(cosine, calibration),
        cosine,
      }));
      return { playbooks: ranked.sort((a, b) => b.cosine - a.cosine) };
    },
  };
}

function dot(a, b) {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += a[at] * b[at];
  return sum;
}
