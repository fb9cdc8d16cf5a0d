import { replacing } from '../common/replacing.js';
import type { Tracer } from '../observability/tracing/tracer.js';
import type { PlaybookRanker, PlaybookRanking } from './playbook-ranker.js';
import type { PlaybookSource } from './playbook-source.js';
import type { SemanticSearch } from './semantic-search.js';

/** @returns the source itself where traces are off */
export function tracedSource(source: PlaybookSource, tracer: Tracer): PlaybookSource {
  if (!tracer.on) return source;
  return replacing(source, {
    search: (search, signal) => {
      const attributes = {
        'toolkeeper.playbooks.source': source.kind,
        'toolkeeper.playbooks.limit': search.limit,
        'toolkeeper.playbooks.labels': Object.keys(search.labels).length,
      };
      return tracer.span('playbooks.search', attributes, async (span) => {
        const found = await source.search(search, signal);
        span.set({ 'toolkeeper.playbooks.found': found.answer.total_results });
        if (found.stale) span.set({ 'toolkeeper.playbooks.stale': true });
        return found;
      });
    },
  });
}

/** @returns the ranker itself where traces are off */
export function tracedRanker(ranker: PlaybookRanker, tracer: Tracer): PlaybookRanker {
  if (!tracer.on) return ranker;
  return replacing(ranker, {
    prepare: async (catalogue) => tracedRanking(await ranker.prepare(catalogue), tracer),
  });
}

function tracedRanking(ranking: PlaybookRanking, tracer: Tracer): PlaybookRanking {
  return replacing(ranking, {
    rank: (asked, candidates) => {
      const attributes = { 'toolkeeper.playbooks.candidates': candidates.size };
      return tracer.span('playbooks.rank', attributes, () => ranking.rank(asked, candidates));
    },
  });
}

/** @returns the search itself where traces are off */
export function tracedSemantics(search: SemanticSearch, tracer: Tracer): SemanticSearch {
  if (!tracer.on) return search;
  return replacing(search, {
    scores: (query, candidates, signal, top) => {
      const attributes = { 'toolkeeper.playbooks.candidates': candidates.length };
      return tracer.span('playbooks.embed', attributes, async (span) => {
        const found = await search.scores(query, candidates, signal, top);
        if (found.degraded) span.set({ 'toolkeeper.playbooks.degraded': found.degraded });
        return found;
      });
    },
  });
}
