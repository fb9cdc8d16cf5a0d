import { normalisedLabels } from '../label-filter.js';
import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';
import { explainSearch, type SearchTrail } from './search-explanation.js';

const playbook = (playbook_id: string, labels: SearchablePlaybook['labels'] = {}): SearchablePlaybook => ({
  playbook_id,
  version: '1.0.0',
  name: 'n',
  description: 'd',
  labels,
  signals: [],
  aliases: [],
  when_to_use: null,
});
const byId = (...playbooks: SearchablePlaybook[]) =>
  new Map(playbooks.map((each) => [each.playbook_id, each]));
const trail = (over: Partial<SearchTrail> = {}): SearchTrail => ({
  playbooks: byId(playbook('a'), playbook('b'), playbook('c')),
  hidden: [],
  callerLabels: normalisedLabels({}),
  ranked: [],
  similarityThreshold: 0.7,
  limit: 2,
  ...over,
});
const removedBy = (over: Partial<SearchTrail>) =>
  explainSearch(trail(over)).map(({ playbook_id, removed_by }) => [playbook_id, removed_by]);

describe('explainSearch', () => {
  it('lists each playbook once, ranked ones first, with the filter that removed it', () => {
    const ranked = [
      { playbookId: 'c', confidence: 0.9 },
      { playbookId: 'a', confidence: 0.69 },
    ];
    const hidden = [{ playbook_id: 'aa', version: '2.0.0', status: 'archived' as const }];
    expect(removedBy({ ranked, hidden })).toEqual([
      ['c', null],
      ['a', 'threshold'],
      ['aa', 'status'],
      ['b', 'no_match'],
    ]);
  });

  it('compares the threshold with what is shown', () => {
    expect(removedBy({ ranked: [{ playbookId: 'a', confidence: 0.695 }] })[0]).toEqual(['a', null]);
  });

  it('counts the limit in what is shown, not in what is ranked', () => {
    const ranked = ['a', 'b', 'c'].map((playbookId) => ({ playbookId, confidence: 0.8 }));
    expect(removedBy({ ranked, limit: 1 })).toEqual([
      ['a', null],
      ['b', 'limit'],
      ['c', 'limit'],
    ]);
  });

  it('names the label, what was asked and what it allows', () => {
    const playbooks = byId(playbook('a', { 'kubernaut.io/Environment': ['staging', 'test'], team: '*' }));
    const callerLabels = normalisedLabels({ environment: 'Production', team: 'x' });
    expect(explainSearch(trail({ playbooks, callerLabels }))[0]).toMatchObject({
      removed_by: 'label',
      reason: 'Its label environment allows staging, test; production was asked for',
      confidence: null,
    });
  });

  it('passes on what the ranker says of a confidence', () => {
    const explanation = {
      lexical: 0.123_456,
      cosine: null,
      matchedTerms: ['oom'],
    };
    const ranked = [{ playbookId: 'a', confidence: 0.754_9, explanation }];
    expect(explainSearch(trail({ ranked }))[0]).toEqual({
      playbook_id: 'a',
      version: '1.0.0',
      shown: true,
      removed_by: null,
      reason: 'Shown at rank 1',
      confidence: 0.75,
      lexical: 0.1235,
      cosine: null,
      blended: 0.7549,
      calibrated: 0.7549,
      matched_terms: ['oom'],
    });
  });
});
