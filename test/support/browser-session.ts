import type TestAgent from 'supertest/lib/agent.js';
import { supertest } from './http.js';

/** The two halves of a session, as a browser holds them. */
export interface BrowserSession {
  readonly cookie: string;
  readonly csrfToken: string;
  /** Its page: shows both halves, and whose page it is. */
  readonly page: TestAgent;
  /** A listener that was sent the cookie, and nothing else. */
  readonly cookieAlone: TestAgent;
}

export async function signIn(url: string, how: { key?: string; once?: string }): Promise<BrowserSession> {
  const { body, headers } = await supertest(url).post('/api/v1/session').send(how).expect(201);
  const [cookie = ''] = String(headers['set-cookie']).split(';');
  const { csrfToken } = body as { csrfToken: string };
  const both = { cookie, 'x-toolkeeper-session': csrfToken };
  return {
    cookie,
    csrfToken,
    page: supertest.agent(url).set({ ...both, origin: url, 'sec-fetch-site': 'same-origin' }),
    cookieAlone: supertest.agent(url).set({ cookie }),
  };
}
