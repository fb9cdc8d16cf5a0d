/**
 * Ranking of an uncached search among BENCH_PLAYBOOKS playbooks (10,000): by words alone, and by words and vectors with
 * made-up vectors, so that what is measured is everything but the embedding of the query. Goal of words alone: 2 ms; vectors are looked at in slices.
 */
import { latencies, median, percentile, print, rounds, seconds } from './measure.mjs';
import { realQueries, syntheticCatalogue } from './synthetic-playbooks.mjs';

const count = Number(process.env.BENCH_PLAYBOOKS ?? 10_000);
const dimensions = 384;
const threshold = 0.7;

export async function benchPlaybooks() {
  const { LexicalRanker } = await import('../../dist/src/agents/playbook-search/ranking/lexical.ranker.js');
  const { BlendedRanker } = await import('../../dist/src/agents/playbook-search/ranking/blended.ranker.js');
  const catalogue = syntheticCatalogue(count);
  const cpu = process.cpuUsage();
  const byWords = await new LexicalRanker().prepare(catalogue);
  const { user, system } = process.cpuUsage(cpu);
  print(`${count} playbooks: index of words built in ${Math.round((user + system) / 1_000)} ms of CPU`);
  const both = (meaning) => new BlendedRanker(new LexicalRanker(), meaning).prepare(catalogue);
  const candidates = new Set(catalogue.map(({ playbook_id }) => playbook_id));
  for (const [name, ranking, goal] of [
    ['words alone', byWords, 2],
    ['words and vectors', await both(await madeUpMeaning(catalogue))],
    ['words and vectors, cosines at hand', await both(knownMeaning())],
  ]) {
    const call = asking(ranking, candidates);
    await latencies(call, seconds * 1_000);
    const samples = [];
    const before = process.cpuUsage();
    for (let round = 0; round < rounds; round++) samples.push(await latencies(call, seconds * 200));
    const p50 = median(samples.map((each) => percentile(each, 0.5)));
    const p99 = median(samples.map((each) => percentile(each, 0.99)));
    const calls = samples.reduce((sum, each) => sum + each.length, 0);
    const { user: own, system: kernel } = process.cpuUsage(before);
    const cpuMs = (own + kernel) / 1_000 / calls;
    print(
      `  ${name}: CPU ${cpuMs.toFixed(2)} ms a search, p50 ${p50.toFixed(2)} ms${goal ? ` (goal ${goal})` : ''}, p99 ${p99.toFixed(2)} ms`,
    );
  }
}

function asking(ranking, candidates) {
  const queries = realQueries();
  let next = 0;
  return () => ranking.rank({ query: queries[next++ % queries.length], threshold, limit: 5 }, candidates);
}

const answer = (cosines) => ({ calibration: { floor: 0.18, cut: 0.4 }, cosines, degraded: undefined });

/** Every search has the same cosines by chance, one in nine of them above the cut. */
function knownMeaning() {
  let cosines;
  return {
    revision: '',
    follow: () => undefined,
    scores: async (_query, keys) => {
      cosines ??= new Map([...keys].map((key) => [key, Math.random() * 0.45]));
      return answer(cosines);
    },
  };
}

/** The product's own store, with vectors of length 1 by chance. */
async function madeUpMeaning(catalogue) {
  const { VectorStore } = await import('../../dist/src/agents/playbook-search/embeddings/vector-store.js');
  const store = new VectorStore();
  const byChance = () => {
    const vector = Float32Array.from({ length: dimensions }, () => Math.random() - 0.5);
    const length = Math.hypot(...vector);
    return vector.map((part) => part / length);
  };
  store.put(
    catalogue.map(({ playbook_id, version }) => ({ playbook_id, version, hash: '', vector: byChance() })),
  );
  const query = byChance();
  return {
    revision: '',
    follow: () => undefined,
    scores: async (_query, keys, _signal, top) => answer(await store.scores(query, keys, top)),
  };
}
