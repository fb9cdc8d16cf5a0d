/**
 * `npm run eval:playbooks [lexical|bundled|onnx|openai …]`: how well the sample catalogue's playbooks are found, by words
 * alone, by vectors alone and by both, for every provider that can be had: `bundled` always, `onnx` with
 * EVAL_MODEL_DIR, `openai` with EMBEDDINGS_URL and EMBEDDINGS_MODEL.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { BlendedRanker } from '../../dist/src/playbook-search/ranking/blended.ranker.js';
import { calibrated } from '../../dist/src/playbook-search/ranking/calibration.js';
import { LexicalRanker } from '../../dist/src/playbook-search/ranking/lexical.ranker.js';
import { middleOf, passagesOf } from '../../dist/src/playbook-search/ranking/passages.js';
import { playbookKey } from '../../dist/src/playbook-search/vector-index.js';
import { measured } from './measures.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const threshold = 0.7;
const read = (...path) => parse(readFileSync(join(root, ...path), 'utf8'));
const queries = read('test', 'eval', 'queries.yaml');
const playbooks = readdirSync(join(root, 'playbooks'))
  .sort()
  .map((file) => ({ labels: {}, signals: [], aliases: [], when_to_use: null, ...read('playbooks', file) }));
const everything = new Set(playbooks.map(({ playbook_id }) => playbook_id));

const wanted = process.argv.slice(2);
const isWanted = (kind) => wanted.length === 0 || wanted.includes(kind);

if (isWanted('lexical')) await report('words alone', await new LexicalRanker().prepare(playbooks));
for (const kind of ['bundled', 'onnx', 'openai']) {
  const provider = isWanted(kind) ? await providerOf(kind) : undefined;
  if (!provider) continue;
  const meaning = await semanticsOf(provider);
  const { floor, cut } = provider.calibration;
  await report(`${provider.id} (floor ${floor}, cut ${cut}): vectors alone`, vectorsAlone(meaning));
  await report(
    `${provider.id}: words and vectors`,
    await new BlendedRanker(new LexicalRanker(), meaning).prepare(playbooks),
  );
  await provider.close();
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

async function providerOf(kind) {
  const { EVAL_MODEL_DIR: modelDir, EMBEDDINGS_URL, EMBEDDINGS_MODEL } = process.env;
  if (kind === 'onnx' && !modelDir) return undefined;
  if (kind === 'openai' && !(EMBEDDINGS_URL && EMBEDDINGS_MODEL)) return undefined;
  const { loadConfig } = await import('../../dist/src/config/app-config.js');
  const { openProvider } = await import('../../dist/src/playbook-search/embeddings/open-provider.js');
  const config = loadConfig({ ...process.env, EMBEDDINGS_PROVIDER: kind, EMBEDDINGS_MODEL_DIR: modelDir });
  return openProvider(kind, config, (trouble) => process.stderr.write(`${trouble.message}\n`));
}

/** What the server keeps in a database, in memory: the vectors of the playbooks and of each query. */
async function semanticsOf(provider) {
  const vectors = new Map();
  for (const playbook of playbooks) {
    vectors.set(playbookKey(playbook), middleOf(await provider.embed(passagesOf(playbook), 'document')));
  }
  const asked = new Map();
  return {
    revision: '',
    scores: async (query, candidates) => {
      if (!asked.has(query)) asked.set(query, (await provider.embed([query], 'query'))[0]);
      const vector = asked.get(query);
      const cosines = new Map(candidates.map((key) => [key, dot(vector, vectors.get(key))]));
      return { calibration: provider.calibration, cosines, degraded: undefined };
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
