import fc from 'fast-check';
import { contextRequest, problemsOf } from './get-context.input.js';

it.each<[string, unknown, string[]]>([
  ['only a fingerprint', { alert_fingerprint: 'x' }, []],
  ['everything', { alert_fingerprint: 'x', similarity_threshold: 0, context_types: ['patterns'] }, []],
  ['no types', { alert_fingerprint: 'x', context_types: [] }, []],
  ['no fingerprint', {}, ['/alert_fingerprint']],
  ['a blank fingerprint', { alert_fingerprint: '' }, ['/alert_fingerprint']],
  ['a fingerprint that is no text', { alert_fingerprint: 1 }, ['/alert_fingerprint']],
  ['a fingerprint without end', { alert_fingerprint: 'x'.repeat(1_025) }, ['/alert_fingerprint']],
  ['a threshold above 1', { alert_fingerprint: 'x', similarity_threshold: 2 }, ['/similarity_threshold']],
  ['types as text', { alert_fingerprint: 'x', context_types: 'patterns' }, ['/context_types']],
  [
    'a type that is none',
    { alert_fingerprint: 'x', context_types: ['a', 1, ''] },
    ['/context_types/1', '/context_types/2'],
  ],
  ['too many types', { alert_fingerprint: 'x', context_types: Array(33).fill('a') }, ['/context_types']],
  ['labels', { alert_fingerprint: 'x', 'labels/~': {} }, ['/labels~1~0']],
  ['a list', [], ['']],
  ['null', null, ['']],
])('validates %s', (_case, input, pointers) => {
  expect(problemsOf(input).map(({ pointer }) => pointer)).toEqual(pointers);
});

it('never throws while it validates', () => {
  fc.assert(fc.property(fc.anything(), (input) => void problemsOf(input)));
});

it('asks with the default, and the same for equal sets of types', () => {
  expect(contextRequest({ alert_fingerprint: 'x' })).toEqual({
    alertFingerprint: 'x',
    similarityThreshold: 0.7,
  });
  expect(contextRequest({ alert_fingerprint: 'x', context_types: ['b', 'a', 'b'] })).toMatchObject({
    contextTypes: ['a', 'b'],
  });
});
