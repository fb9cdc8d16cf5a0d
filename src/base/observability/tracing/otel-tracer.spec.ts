import { Refusal } from '../../common/errors.js';
import { ToolFailure } from '../../../web/contract/tool-outcome.js';
import { errorTypeOf } from './start-tracing.js';

describe('errorTypeOf', () => {
  it.each<[unknown, string]>([
    [new Refusal('queue_full', 'secret'), 'queue_full'],
    [new ToolFailure('upstream_unavailable', 'secret'), 'upstream_unavailable'],
    [Object.assign(new Error('secret'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [new TypeError('secret'), 'TypeError'],
    [AbortSignal.abort().reason, 'AbortError'],
    ['secret', 'unknown'],
    [undefined, 'unknown'],
    [null, 'unknown'],
  ])('%s is %s', (error, type) => {
    expect(errorTypeOf(error)).toBe(type);
  });
});
