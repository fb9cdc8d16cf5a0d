import { bearer } from '../support/admin-key.js';
import { startApp } from '../support/app.js';
import { startIssuer } from '../support/oidc-issuer.js';

// real: the whole server, HTTP, PostgreSQL, an issuer with real signatures; mock: nothing

it('10,000 tokens of unknown keys ask the issuer for its keys once in 30 seconds at most', async () => {
  const issuer = await startIssuer();
  const rules = [{ claim: 'sub', value: 'alice', role: 'agent' }];
  const own = { issuer: issuer.issuer, audiences: ['toolkeeper'], rules };
  const tk = await startApp({ OIDC_ISSUERS: JSON.stringify([own]) });
  const list = (token: string) => tk.anonymous.get('/api/v1/tools').set(bearer(token));
  await list(await issuer.token()).expect(200);
  const before = issuer.asked.length;
  const began = Date.now();
  const [, payload = '', signature = ''] = (await issuer.token()).split('.');
  const forged = (kid: string): string => {
    const header = Buffer.from(JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid })).toString('base64url');
    return `${header}.${payload}.${signature}`;
  };
  const statuses = new Set<number>();
  const flood = async (worker: number): Promise<void> => {
    for (let turn = 0; turn < 625; turn++) {
      const headers = bearer(forged(`${worker}-${turn}`));
      const answer = await fetch(`${tk.url}/api/v1/tools`, { headers });
      await answer.arrayBuffer();
      statuses.add(answer.status);
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, worker) => flood(worker)));
  expect([...statuses]).toEqual([401]);
  const halfMinutes = (Date.now() - began) / 30_000;
  expect(issuer.asked.length - before).toBeLessThanOrEqual(1 + halfMinutes);
  await list(await issuer.token()).expect(200);
  await tk.close();
  await issuer.close();
}, 300_000);
