import type { ToolOutcome } from '../tool-contract/tool-outcome.js';
import { answerJson } from './answer-json.js';

/** Each member of an outcome: one that is added later has to be written as well. */
const outcome: ToolOutcome & { status: 'success' } = {
  executionId: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f',
  tool: 'log_summary.v2',
  status: 'success',
  executionTimeMs: 12,
  attempts: 2,
  cached: true,
  result: { n: [1, 'é"\n', null] },
};

describe('the JSON of an answer', () => {
  it('holds what the outcome holds, with the result as its tool wrote it', () => {
    const resultJson = '{ "n": [1.0, "\\u00e9\\"\\n", null] }';
    const json = answerJson({ outcome, resultJson });
    expect(JSON.parse(json)).toEqual(outcome);
    expect(json).toContain(`"result":${resultJson}}`);
    expect(JSON.parse(answerJson({ outcome }))).toEqual(outcome);
  });
});
