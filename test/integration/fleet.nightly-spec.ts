import type { Json } from '../support/json.js';
import { type Fleet, register, startFleet } from '../support/fleet.js';
import { until } from '../support/wait.js';

// real: two servers in processes of their own, PostgreSQL, HTTP, tools; mock: nothing

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(2);
});
afterAll(() => fleet.stop());

it('an open circuit is tried by three calls in all, at one replica', async () => {
  const [one, two] = fleet.replicas as [Fleet['replicas'][0], Fleet['replicas'][0]];
  await register(one, 'probed', { poolSize: 3 });
  const circuit = async (at: typeof one): Promise<Json> =>
    (await at.http.get('/api/v1/tool-health/probed/circuit').expect(200)).body;
  for (let n = 0; n < 6; n++) await fleet.replicas[n % 2]?.call('probed', { action: 'crash' });
  await until(async () => (await circuit(two)).state === 'open', { what: 'both circuits to open' });
  const { nextProbeAt } = await circuit(two);
  await until(() => Date.now() > Date.parse(nextProbeAt) + 500, { what: 'the time to probe' });
  const calls = Array.from({ length: 30 }, (_, n) =>
    (n % 2 === 0 ? one : two).call('probed', { action: 'sleep', ms: 1_500 }).then(({ body }) => body),
  );
  const answers = (await Promise.all(calls)).map(({ code, status }) => code ?? status);
  expect(answers.filter((code) => code === 'success')).toHaveLength(3);
  expect(answers.filter((code) => code === 'circuit_open')).toHaveLength(27);
  await until(
    async () => (await circuit(one)).state === 'closed' && (await circuit(two)).state === 'closed',
    {
      what: 'both circuits to close',
    },
  );
});
