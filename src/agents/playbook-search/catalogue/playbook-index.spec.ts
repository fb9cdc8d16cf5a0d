import { noTracer } from '../../../base/observability/tracing/tracer.js';
import { LexicalRanker } from '../ranking/lexical.ranker.js';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';
import type { PlaybookSearch } from '../playbook-source.js';
import { PlaybookIndex } from './playbook-index.js';
import type { PlaybookRanker } from '../playbook-ranker.js';
import type { PlaybooksRepository } from '../../playbooks/playbooks.repository.js';

const playbook = (playbook_id: string, labels: SearchablePlaybook['labels'] = {}): SearchablePlaybook => ({
  playbook_id,
  version: '1.0.0',
  name: 'Container killed for lack of memory',
  description: `Description of ${playbook_id}`,
  labels,
  signals: ['OOMKilled'],
  aliases: [],
  when_to_use: null,
});

/** Scores by id, so that a test says what comes out. */
const scoring = (scores: Record<string, number>): PlaybookRanker => ({
  prepare: async () => ({
    rank: async (_request, candidates) => ({
      playbooks: Object.entries(scores)
        .filter(([playbookId]) => candidates.has(playbookId))
        .map(([playbookId, confidence]) => ({ playbookId, confidence })),
    }),
  }),
});

function indexOf(read: () => Promise<SearchablePlaybook[]>, ranker: PlaybookRanker = new LexicalRanker()) {
  let revision = 0;
  const searchable = async () => ({ playbooks: await read(), revision: String((revision += 1)) });
  return new PlaybookIndex({ searchable } as unknown as PlaybooksRepository, ranker, noTracer);
}

const query = { query: 'OOMKilled', labels: {}, similarityThreshold: 0.7, limit: 5 };

const search = async (index: PlaybookIndex, asked: PlaybookSearch) => (await index.find(asked)).answer;

describe('PlaybookIndex', () => {
  it('answers the four fields and how many there are', async () => {
    const index = indexOf(async () => [playbook('a'), playbook('b')], scoring({ a: 0.914_9, b: 0.8 }));
    expect(await search(index, query)).toEqual({
      playbooks: [
        { playbook_id: 'a', version: '1.0.0', description: 'Description of a', confidence: 0.91 },
        { playbook_id: 'b', version: '1.0.0', description: 'Description of b', confidence: 0.8 },
      ],
      total_results: 2,
    });
  });

  it('shows nothing below the threshold, and no more than the limit', async () => {
    const index = indexOf(async () => [playbook('a'), playbook('b')], scoring({ a: 0.699_9, b: 0.694 }));
    expect((await search(index, query)).playbooks).toEqual([
      expect.objectContaining({ playbook_id: 'a', confidence: 0.7 }),
    ]);
    expect((await search(index, { ...query, similarityThreshold: 0.6, limit: 1 })).total_results).toBe(1);
    expect(await search(index, { ...query, similarityThreshold: 1 })).toEqual({
      playbooks: [],
      total_results: 0,
    });
  });

  it('never offers more memory to a namespace that may not have it', async () => {
    const raise = playbook('increase-memory', {
      'memory-scaling': 'enabled',
      'cost-tier': ['standard', 'premium'],
    });
    const shrink = playbook('reduce-footprint', { 'memory-scaling': 'disabled', 'cost-tier': 'budget' });
    const index = indexOf(async () => [raise, shrink]);
    const idsFor = async (labels: Record<string, string>) =>
      (await search(index, { ...query, labels })).playbooks.map((hit) => hit.playbook_id);
    expect(await idsFor({})).toEqual(['increase-memory', 'reduce-footprint']);
    expect(await idsFor({ 'cost-tier': 'budget', 'memory-scaling': 'disabled' })).toEqual([
      'reduce-footprint',
    ]);
    expect(await idsFor({ 'Cost-Tier': 'Budget' })).toEqual(['reduce-footprint']);
    expect(await idsFor({ 'cost-tier': 'premium' })).toEqual(['increase-memory']);
  });

  it('reads the catalogue once for searches that come together, and again after a change', async () => {
    const states = [[playbook('a')], [playbook('a'), playbook('b')]];
    let reads = 0;
    const index = indexOf(async () => states[reads++] ?? []);
    const together = await Promise.all(Array.from({ length: 20 }, () => search(index, query)));
    expect(reads).toBe(1);
    expect(together.every(({ total_results }) => total_results === 1)).toBe(true);
    index.invalidate();
    expect((await search(index, query)).total_results).toBe(2);
    expect(reads).toBe(2);
  });

  it('does not keep a state that was read before a change', async () => {
    let finishFirst = (_: SearchablePlaybook[]): void => undefined;
    const first = new Promise<SearchablePlaybook[]>((resolve) => (finishFirst = resolve));
    const reads = [first, Promise.resolve([playbook('b')]), Promise.resolve([playbook('c')])];
    const index = indexOf(() => reads.shift() ?? Promise.reject(new Error('read too often')));
    const early = search(index, query);
    index.invalidate();
    expect((await search(index, query)).playbooks[0]?.playbook_id).toBe('b');
    finishFirst([playbook('a')]);
    expect((await early).playbooks[0]?.playbook_id).toBe('a');
    expect((await search(index, query)).playbooks[0]?.playbook_id).toBe('b');
    // What came late says nothing of what is kept: another revision is still noticed.
    await index.follow('2');
    expect((await search(index, query)).playbooks[0]?.playbook_id).toBe('c');
  });

  it('fails when the catalogue cannot be read, and recovers by itself', async () => {
    const reads = [Promise.reject(new Error('database is away')), Promise.resolve([playbook('a')])];
    const index = indexOf(() => reads.shift() ?? Promise.resolve([]));
    await expect(search(index, query)).rejects.toThrow('database is away');
    expect((await search(index, query)).total_results).toBe(1);
  });

  it('reads again when the database has another revision, and only then', async () => {
    let reads = 0;
    const index = indexOf(async () => {
      reads += 1;
      return [playbook('a')];
    });
    await index.follow('1');
    await index.follow('1');
    expect(reads).toBe(1);
    const before = index.revision;
    await index.follow('2');
    expect(reads).toBe(2);
    expect(index.revision).not.toBe(before);
    // What this replica changed itself was read after the change, with its revision.
    index.invalidate();
    await search(index, query);
    await index.follow('3');
    expect(reads).toBe(3);
  });

  it('has another revision after every change, and when its ranker says so', () => {
    const ranker = { revision: 'a', prepare: async () => Promise.reject(new Error('not asked')) };
    const index = indexOf(async () => [], ranker);
    const seen = [index.revision];
    index.invalidate();
    seen.push(index.revision);
    ranker.revision = 'b';
    seen.push(index.revision);
    expect(new Set(seen).size).toBe(3);
  });

  it('lets an answer of a poorer ranking stand for no other call, and every other one as long as the revision', async () => {
    const { signal } = new AbortController();
    const ranked = (degraded: string | undefined): PlaybookRanker => ({
      prepare: async () => ({ rank: async () => ({ playbooks: [], degraded }) }),
    });
    const answer = { playbooks: [], total_results: 0 };
    expect(await indexOf(async () => [], ranked(undefined)).search(query, signal)).toEqual({ answer });
    expect(await indexOf(async () => [], ranked('timeout')).search(query, signal)).toEqual({
      answer,
      ttlMs: 0,
    });
  });

  it('says when an answer is poorer than it should be', async () => {
    const index = indexOf(async () => [playbook('a')], {
      prepare: async () => ({
        rank: async () => ({ playbooks: [{ playbookId: 'a', confidence: 0.9 }], degraded: 'timed_out' }),
      }),
    });
    const found = await index.find(query);
    expect([found.answer.total_results, found.degraded]).toEqual([1, 'timed_out']);
  });

  it('gives a ranker the very same candidates for equal labels', async () => {
    const given: ReadonlySet<string>[] = [];
    const index = indexOf(async () => [playbook('a', { environment: 'production' }), playbook('b')], {
      prepare: async () => ({
        rank: async (_request, candidates) => {
          given.push(candidates);
          return { playbooks: [] };
        },
      }),
    });
    await search(index, { ...query, labels: { environment: 'Staging', priority: 'P1' } });
    await search(index, { ...query, labels: { 'kubernaut.io/priority': 'p1', environment: 'staging' } });
    await search(index, query);
    await search(index, { ...query, labels: { environment: '*' } });
    expect(given[0]).toBe(given[1]);
    expect(given.map((each) => [...each])).toEqual([['b'], ['b'], ['a', 'b'], ['a', 'b']]);
  });
});
