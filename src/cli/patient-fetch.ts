import { Agent, type BodyInit as Body, fetch } from 'undici';

declare global {
  /** The generated client knows this type from browsers; Node's own types leave it out. */
  type BodyInit = Body;
}

/** Node's own fetch gives up after 300 s without an answer, and a call may take an hour: the tool's limit ends it. */
const patient = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

export const patientFetch: typeof globalThis.fetch = async (input, init) => {
  const request = new Request(input, init);
  const { method, headers, signal, url } = request;
  const body = request.body === null ? null : Buffer.from(await request.arrayBuffer());
  const answer = await fetch(url, { method, headers: [...headers], body, signal, dispatcher: patient });
  // The same class by another name.
  return answer;
};
