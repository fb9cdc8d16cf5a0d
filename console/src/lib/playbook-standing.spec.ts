import {
  missingWords,
  sharedWords,
  standingText,
  standingOf,
  standingOfText,
  textOfStanding,
} from './playbook-standing.js';

const candidate = (
  playbook_id: string,
  confidence: number | null,
  removed_by: 'threshold' | 'label' | null,
) => ({
  ...{ playbook_id, version: '1.0.0', shown: removed_by === null, removed_by, reason: 'r', confidence },
  ...{ lexical: null, cosine: null, blended: null, calibrated: null, matched_terms: [] },
});
const candidates = [
  candidate('a', 0.9, null),
  candidate('b', 0.4, 'threshold'),
  candidate('c', null, 'label'),
];

it('says where a playbook stands, and reads it again from an address', () => {
  const standings = ['a', 'b', 'c'].map((id) => standingOf(candidates, id));
  expect(standings.map((each) => each && standingText(each))).toEqual([
    'Shown at rank 1, confidence 0.9',
    'Left out by the threshold at rank 2, confidence 0.4',
    'Left out by a label',
  ]);
  expect(standings.map((each) => each && standingOfText(textOfStanding(each)))).toEqual(standings);
  expect(standingOf(candidates, 'absent')).toBeUndefined();
  expect(['', 'x', '1,2,', '1,0.5,other', '1,0.5'].map(standingOfText)).toEqual(Array(5).fill(undefined));
});

it('names the words of a query that a playbook lacks, by the stems of those that it has', () => {
  const query = 'Pods OOMKilled: memory of the pods, exit-code 137';
  const matched_terms = ['oomkil', 'pod', 'memori'];
  expect(missingWords(query, { removed_by: 'threshold', matched_terms })).toEqual(['exit-code', '137']);
  expect(missingWords(query, { removed_by: 'label', matched_terms: [] })).toEqual([]);
});

it('names the words of a query that a playbook has in place of their stems', () => {
  const query = 'Pods OOMKilled: memory of the pods';
  expect(sharedWords(query, ['oomkil', 'pod', 'memori', 'other'])).toEqual([
    'oomkilled',
    'pods',
    'memory',
    'other',
  ]);
});
