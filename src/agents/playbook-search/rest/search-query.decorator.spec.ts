import { Problem } from '../../../base/common/errors.js';
import { parseSearchQuery } from './playbook-search.controller.js';

const problemOf = async (parameters: Record<string, unknown>): Promise<Problem> => {
  try {
    await parseSearchQuery(parameters);
  } catch (error) {
    if (error instanceof Problem) return error;
  }
  throw new Error('no problem');
};

describe('the query string of a search', () => {
  it('takes labels out and converts the rest', async () => {
    const parameters = {
      query: 'OOMKilled',
      'label.environment': 'production',
      'label.a.b': 'c',
      min_confidence: '0.5',
    };
    expect(await parseSearchQuery(parameters)).toEqual({
      query: 'OOMKilled',
      labels: { environment: 'production', 'a.b': 'c' },
      similarityThreshold: 0.5,
      limit: 10,
      explain: false,
      explainOnly: undefined,
    });
  });

  it('has defaults', async () => {
    expect(await parseSearchQuery({ query: 'x' })).toMatchObject({
      similarityThreshold: 0.7,
      limit: 10,
      labels: {},
    });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['no query', {}, '/query'],
    ['a blank query', { query: '  ' }, '/query'],
    ['a query given twice', { query: ['a', 'b'] }, '/query'],
    ['a confidence above 1', { query: 'x', min_confidence: '1.5' }, '/min_confidence'],
    ['a confidence that is no number', { query: 'x', min_confidence: 'high' }, '/min_confidence'],
    ['too many results', { query: 'x', max_results: '101' }, '/max_results'],
    ['an unknown parameter', { query: 'x', labels: 'a' }, '/labels'],
    ['a label without a key', { query: 'x', 'label.': 'a' }, '/label.'],
    ['a label whose key has a slash', { query: 'x', 'label.k8s.io/env': '' }, '/label.k8s.io~1env'],
    ['a label without a value', { query: 'x', 'label.a': '' }, '/label.a'],
    ['a label given twice', { query: 'x', 'label.a': ['b', 'c'] }, '/label.a'],
    [
      'more labels than a playbook can have',
      { query: 'x', ...Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`label.k${at}`, 'v'])) },
      '/label',
    ],
  ])('refuses %s', async (_case, parameters, pointer) => {
    const { code, details } = await problemOf(parameters);
    expect(code).toBe('invalid_request');
    expect(details.errors?.map((each) => each.pointer)).toContain(pointer);
  });
});
