import fc from 'fast-check';
import { historicalContext, playbookAnswer } from './data-storage-client.js';
import { UpstreamFailure } from '../../../base/outbound/upstream-failure.js';

const search = { query: 'x', similarityThreshold: 0.7, limit: 3, labels: {} };
const playbook = (id: string, confidence: unknown = 0.9, more: object = {}) => ({
  playbook_id: id,
  version: '1.0.0',
  description: `what ${id} does`,
  confidence,
  ...more,
});
const body = (...playbooks: unknown[]) => ({ playbooks, total_results: playbooks.length });

describe('playbookAnswer', () => {
  it('keeps four fields of a playbook and no other', () => {
    const answer = playbookAnswer(body(playbook('a', 0.914, { risk_level: 'high', steps: [] })), search);
    expect(answer).toEqual({ playbooks: [playbook('a', 0.91)], total_results: 1 });
  });

  it('orders by confidence, drops what is below the threshold and what is too much', () => {
    const found = body(
      playbook('low', 0.694),
      playbook('third', 0.7),
      playbook('first', 1),
      playbook('fourth', 0.695),
      playbook('second', 0.8),
    );
    const { playbooks, total_results } = playbookAnswer(found, search);
    expect(playbooks.map(({ playbook_id }) => playbook_id)).toEqual(['first', 'second', 'third']);
    expect(total_results).toBe(3);
  });

  it('takes no hit for an answer', () => {
    expect(playbookAnswer(body(), search)).toEqual({ playbooks: [], total_results: 0 });
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['a list', []],
    ['no playbooks', { total_results: 0 }],
    ['playbooks that are no list', { playbooks: {}, total_results: 0 }],
    ['no total', { playbooks: [] }],
    ['a total that is no count', { playbooks: [], total_results: -1 }],
    ['a playbook that is none', body(null)],
    ['a playbook without id', body({ ...playbook('a'), playbook_id: undefined })],
    ['a blank version', body({ ...playbook('a'), version: ' ' })],
    ['a description without end', body({ ...playbook('a'), description: 'x'.repeat(10_001) })],
    ['a confidence above 1', body(playbook('a', 1.2))],
    ['a confidence as text', body(playbook('a', '0.9'))],
    ['no number', body(playbook('a', NaN))],
  ])('does not take %s', (_case, answer) => {
    expect(() => playbookAnswer(answer, search)).toThrow(UpstreamFailure);
  });

  it('takes an answer or says that it is invalid, whatever comes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (playbooks, total_results) => {
        try {
          playbookAnswer({ playbooks, total_results }, search);
        } catch (error) {
          expect(error).toMatchObject({ kind: 'invalid_answer' });
        }
      }),
    );
  });
});

describe('historicalContext', () => {
  it('keeps what the service knows under its full names, and nothing else', () => {
    const known = { similar_incidents: [{ id: 1 }], patterns: { a: 1 }, success_rates: { b: 0.5 } };
    expect(historicalContext({ ...known, other: 1 })).toEqual(known);
    expect(historicalContext({})).toEqual({ similar_incidents: [], patterns: {}, success_rates: {} });
  });

  it.each([null, [], { similar_incidents: {} }, { patterns: [] }, { success_rates: 1 }])(
    'does not take %j',
    (answer) => {
      expect(() => historicalContext(answer)).toThrow(UpstreamFailure);
    },
  );
});
