import type { Json } from './json.js';
import type { Replica } from './replicas.js';
import { until } from './wait.js';

/** Submits a call that sleeps. @returns its location */
export async function submitSleep(to: Replica, tool: string, ms: number): Promise<string> {
  const answer = await to.http
    .post(`/api/v1/tools/${tool}/execute`)
    .set('prefer', 'respond-async')
    .send({ input: { action: 'sleep', ms }, context: { timeoutMs: 30_000 } })
    .expect(202);
  return answer.headers['location'] ?? '';
}

/** The execution once it has ended. */
export const endOf = (at: Replica, location: string): Promise<Json> =>
  until(
    async () => {
      const { body } = await at.http.get(`${location}?waitMs=5000`).expect(200);
      return body.endedAt && body;
    },
    { what: 'the end' },
  );
