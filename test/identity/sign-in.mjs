import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { URLSearchParams } from 'node:url';
import { browser } from './agent.mjs';
import { redirectUri } from './provider.mjs';

/** All tokens of a person's sign-in at an agent that is registered. */
export async function tokensOf({ issuer }, resource, scope) {
  const verifier = randomBytes(32).toString('base64url');
  const client = { client_id: 'registered', redirect_uri: redirectUri };
  const query = new URLSearchParams({
    ...client,
    ...{ response_type: 'code', scope, resource, prompt: 'consent' },
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const callback = await browser().visit(`${issuer}/auth?${query}`);
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      ...client,
      ...{ grant_type: 'authorization_code', resource, code: callback.get('code'), code_verifier: verifier },
    }),
  });
  const tokens = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(tokens));
  return tokens;
}
