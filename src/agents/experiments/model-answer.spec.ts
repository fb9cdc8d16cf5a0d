import { LlmEndpoint } from '../llm/llm.module.js';
import { type LlmServer, startLlmServer } from '../../../test/support/llm-endpoint.js';
import type { Experiment } from './experiments.repository.js';
import { modelAnswer } from './experiment-runs.js';

// Real: the requests to the model over HTTP. Scripted: the model.

let llm: LlmServer;
let endpoint: LlmEndpoint;
beforeAll(async () => {
  llm = await startLlmServer();
});
// Its circuit has seen nothing of the other tests.
beforeEach(() => {
  const times = { retries: 2, pauseMs: 1, deadlineMs: 10_000 };
  endpoint = new LlmEndpoint({ url: llm.url, model: 'usual-1', apiKey: undefined }, times);
});
afterEach(() => endpoint.close());
afterAll(() => llm.close());

const experiment = {
  modified_request: { messages: [{ role: 'user', content: 'Hello' }] },
  ...{ model_parameters: {}, headers: {}, prompt_variables: {}, thread_id: 'Thread of Zoë' },
} as unknown as Experiment;
const answer = (timeoutMs: number) =>
  modelAnswer(endpoint, experiment, { signal: new AbortController().signal, timeoutMs });

it('waits no longer than a run may take', async () => {
  llm.answer = () => new Promise(() => undefined);
  expect(await answer(50)).toEqual({
    status: 'failed',
    error: 'The language model gave no answer within 0.05 s',
  });
});

it('asks again what may pass, leaves out a thread that no header can hold, and keeps no endless answer', async () => {
  let tries = 0;
  llm.asked.length = 0;
  llm.answer = (_, response) => (++tries === 1 ? void response.writeHead(503).end() : 'At last.');
  expect(await answer(10_000)).toMatchObject({ status: 'completed', result: { output: 'At last.' } });
  expect(llm.asked.map(({ headers }) => headers['x-thread-id'])).toEqual([undefined, undefined]);
  llm.answer = () => 'x'.repeat(600_000);
  expect(await answer(10_000)).toEqual({
    status: 'failed',
    error: expect.stringMatching(/longer than 262144/),
  });
});

it.each(['{}', '{"choices":[]}', '{"choices":[{"message":null}]}', 'null', '[1]', 'no JSON'])(
  'says that %s is no answer',
  async (body) => {
    llm.answer = (_, response) => void response.end(body);
    expect(await answer(10_000)).toEqual({
      status: 'failed',
      error: expect.stringMatching(
        /^The language model gave no answer: (its answer has no `choices|the answer is no JSON)/,
      ),
    });
  },
);

it('knows no figures that it is not told', async () => {
  llm.answer = (_, response) =>
    void response.end('{"choices":[{"message":{"role":"assistant","content":null}}],"usage":"none"}');
  expect(await answer(10_000)).toMatchObject({
    result: { output: null, model: null, usage: null, cost: null, trace_id: null },
  });
});
