import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { URL } from 'node:url';
import { startPlatformServer } from '../platforms/platform-server.mjs';
import { startProvider } from './provider.mjs';

// real: oidc-provider, which stops for five minutes, the built server, HTTP; mock: nothing

const own = 'urn:toolkeeper:jwt';
const opaque = 'urn:toolkeeper:opaque';
const formats = { [opaque]: 'opaque' };
/** Shorter for a try by hand. */
const awaySeconds = Number(process.env.ISSUER_AWAY_SECONDS ?? 300);
const rules = [{ claim: 'client_id', value: 'agent', role: 'agent' }];

async function newKeys() {
  const pair = await generateKeyPair('RS256', { extractable: true });
  const kid = randomUUID();
  return { ...pair, kid, jwks: { keys: [{ ...(await exportJWK(pair.privateKey)), kid, use: 'sig' }] } };
}

describe(`an issuer that is away for ${awaySeconds} s`, () => {
  let keys;
  let provider;
  let server;
  before(async () => {
    keys = await newKeys();
    provider = await startProvider({ formats, jwks: keys.jwks });
    const { issuer } = provider;
    const introspection = { clientId: 'toolkeeper', clientSecret: 'secret-of-toolkeeper' };
    server = await startPlatformServer({
      OIDC_ISSUERS: JSON.stringify([{ issuer, audiences: [own, opaque], introspection, rules }]),
    });
  });
  after(async () => {
    await server?.stop();
    provider?.stop();
  });

  const sign = ({ privateKey, kid }) => {
    const now = Math.floor(Date.now() / 1_000);
    const claims = { iss: provider.issuer, aud: own, sub: 'agent', client_id: 'agent', scope: 'tools:call' };
    return new SignJWT({ ...claims, iat: now, exp: now + 3_600, jti: randomUUID() })
      .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid })
      .sign(privateKey);
  };
  const ask = async (token) => {
    const began = performance.now();
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${server.url}/api/v1/tools`, { headers });
    const { detail } = await answer.json();
    return { status: answer.status, detail, ms: performance.now() - began };
  };

  /** Sends, each second: a token that was seen, a new one of a known key, ten of an unknown key, and one that is no JWT. */
  async function watch(seconds, seen, unknown, unasked) {
    const found = { seen: [], known: [], unknown: [], opaque: [] };
    const began = performance.now();
    const running = [];
    for (let second = 0; second < seconds; second++) {
      const send = async (kind, token) => found[kind].push(await ask(await token));
      running.push(send('seen', seen), send('known', sign(keys)), send('opaque', unasked));
      for (let turn = 0; turn < 10; turn++) running.push(send('unknown', sign(unknown)));
      await delay(Math.max(0, began + 1_000 * (second + 1) - performance.now()));
    }
    await Promise.all(running);
    return found;
  }
  const longest = (answers) => Math.round(Math.max(...answers.map(({ ms }) => ms)));
  const median = (answers) => answers.map(({ ms }) => ms).toSorted((a, b) => a - b)[answers.length >> 1];
  const lateOf = (answers) => answers.filter(({ ms }) => ms > 1_000).length;
  const shown = (found) =>
    Object.entries(found)
      .map(([kind, answers]) => {
        const statuses = [...new Set(answers.map(({ status }) => status))].join();
        const times = `median ${Math.round(median(answers))} ms, longest ${longest(answers)} ms`;
        return `${kind}: ${answers.length} × ${statuses}, ${times}, ${lateOf(answers)} above 1 s`;
      })
      .join('; ');

  function check({ seen, known, unknown, opaque: unasked }, seconds) {
    assert.deepEqual([...new Set([...seen, ...known].map(({ status }) => status))], [200]);
    assert.deepEqual([...new Set([...unknown, ...unasked].map(({ status }) => status))], [401]);
    // Within 30 s of the last look at its keys the issuer is not asked.
    for (const { detail } of unknown) assert.match(detail, /its issuer cannot be asked|no applicable key/);
    for (const { detail } of [...unasked, ...unknown.slice(-10)])
      assert.match(detail, /its issuer cannot be asked/);
    assert.equal(seen.length, seconds);
    // A token that was seen waits for the machine alone, and the others for hardly more.
    for (const others of [known, unknown]) {
      assert.ok(median(others) < 1_000);
      assert.ok(lateOf(others) / others.length <= lateOf(seen) / seen.length + 0.05);
    }
  }

  it('goes on with its known keys, refuses others at once, and its new keys are known in seconds', async () => {
    const seen = await provider.tokenFor(own);
    const unasked = await provider.tokenFor(opaque);
    assert.equal((await ask(seen)).status, 200);
    const next = await newKeys();
    provider.stop();
    const found = await watch(awaySeconds, seen, next, unasked);
    console.log(`stopped for ${awaySeconds} s: ${shown(found)}`);
    check(found, awaySeconds);

    // It comes back with another key.
    const port = Number(new URL(provider.issuer).port);
    const jwks = { keys: [...next.jwks.keys, ...keys.jwks.keys] };
    provider = await startProvider({ formats, port, jwks });
    const back = performance.now();
    while ((await ask(await sign(next))).status !== 200) {
      assert.ok(performance.now() - back < 10_000, 'the new key is known within 10 s');
      await delay(100);
    }
    console.log(`its new key is known after ${Math.round(performance.now() - back)} ms`);
    assert.equal((await ask(await provider.tokenFor(opaque))).status, 200);
  });

  it('that takes connections and answers none keeps one request waiting at a time', async () => {
    const next = await newKeys();
    const seen = await provider.tokenFor(own);
    assert.equal((await ask(seen)).status, 200);
    const port = Number(new URL(provider.issuer).port);
    provider.stop();
    const sockets = [];
    const silent = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
    await new Promise((resolve) => silent.listen(port, '127.0.0.1', resolve));
    try {
      // The first failure takes the timeout of a request to the issuer, 30 s after its keys were read.
      while (!/cannot be asked/.test((await ask(await sign(next))).detail)) await delay(500);
      const found = await watch(20, seen, next, 'opaque-and-unknown');
      console.log(`silent for 20 s: ${shown(found)}`);
      check(found, 20);
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });
});
