/**
 * `npm run eval:playbooks [-- tuned|untouched]`: how well the sample catalogue's playbooks, and plain ones, are found by
 * words alone and, where EMBEDDINGS_URL and EMBEDDINGS_MODEL name an endpoint, by vectors alone and by both.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { loadConfig } from '../../dist/src/base/config/app-config.js';
import { EmbeddingsEndpoint } from '../../dist/src/agents/playbook-search/embeddings/embeddings-endpoint.js';
import { calibrationAt } from '../../dist/src/agents/playbook-search/embeddings/playbook-embeddings.js';
import { BlendedRanker } from '../../dist/src/agents/playbook-search/ranking/blended.ranker.js';
import { calibrated } from '../../dist/src/base/lexical-search/lexical-search.js';
import { LexicalRanker } from '../../dist/src/agents/playbook-search/ranking/lexical.ranker.js';
import { middleOf, passagesOf } from '../../dist/src/agents/playbook-search/embeddings/vector-store.js';
import { measured } from './measures.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const threshold = 0.7;
const read = (...path) => parse(readFileSync(join(root, ...path), 'utf8'));
const halves = ['tuned', 'untouched'].filter((half) => (process.argv[2] ?? half) === half);
const { embeddings } = loadConfig();
const endpoint = embeddings && new EmbeddingsEndpoint(embeddings);

const samples = readdirSync(join(root, 'playbooks'))
  .sort()
  .map((file) => read('playbooks', file));
await evaluate('rich playbooks', samples, read('test', 'eval', 'queries.yaml'));
const plain = (file) => read('test', 'eval', 'plain', file);
await evaluate('plain playbooks', plain('playbooks.yaml'), plain('queries.yaml'));
await endpoint?.close();

async function evaluate(name, files, all) {
  const playbooks = files.map((each) => ({
    labels: {},
    signals: [],
    aliases: [],
    when_to_use: null,
    ...each,
  }));
  const queries = all.filter(({ half }) => halves.includes(half));
  const candidates = new Set(playbooks.map(({ playbook_id }) => playbook_id));
  const report = async (title, ranking) => {
    const rankings = [];
    for (const query of queries) {
      const request = { query: query.text, threshold: 0, limit: 10, explain: true };
      rankings.push((await ranking.rank(request, candidates)).playbooks);
    }
    process.stdout.write(`\n${name}, ${title}\n`);
    console.table(measured(queries, rankings, threshold));
  };
  await report('words alone', await new LexicalRanker().prepare(playbooks));
  if (!endpoint) return;
  const meaning = await semanticsOf(playbooks, calibrationAt(embeddings.cut));
  await report(`${endpoint.id} (cut ${embeddings.cut}), vectors alone`, vectorsAlone(playbooks, meaning));
  const both = await new BlendedRanker(new LexicalRanker(), meaning).prepare(playbooks);
  await report(`${endpoint.id}, words and vectors`, both);
}

/** What the server keeps in a database, in memory: the vectors of the playbooks and of each query. */
async function semanticsOf(playbooks, calibration) {
  const vectors = new Map();
  for (const playbook of playbooks) {
    vectors.set(playbook.playbook_id, middleOf(await endpoint.embed(passagesOf(playbook), 'document')));
  }
  const asked = new Map();
  return {
    revision: '',
    follow: () => undefined,
    scores: async (query, candidates) => {
      if (!asked.has(query)) asked.set(query, (await endpoint.embed([query], 'document'))[0]);
      const vector = asked.get(query);
      const cosines = new Map([...candidates].map((id) => [id, dot(vector, vectors.get(id))]));
      return { calibration, cosines, degraded: undefined };
    },
  };
}

function vectorsAlone(playbooks, meaning) {
  const ids = new Set(playbooks.map((playbook) => playbook.playbook_id));
  return {
    rank: async ({ query }) => {
      const { cosines, calibration } = await meaning.scores(query, ids);
      const ranked = [...cosines].map(([playbookId, cosine]) => ({
        playbookId,
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
