import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { createSecretKey, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type Pair = Awaited<ReturnType<typeof generateKeyPair>> & { readonly kid: string };

const newPair = async (): Promise<Pair> => ({
  ...(await generateKeyPair('RS256', { extractable: true })),
  kid: randomUUID(),
});

export interface TokenParts {
  readonly claims?: JWTPayload;
  /** Claims to leave out. */
  readonly without?: readonly string[];
  readonly header?: { readonly typ?: string; readonly kid?: string };
  /** Signs with a key that the issuer has not published. */
  readonly foreignKey?: boolean;
}

interface FixedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * A small OpenID provider without users: metadata, keys, introspection, and tokens as a test asks for them.
 * @param tokens where `/token` is answered, none by default
 */
export async function startIssuer(
  changes: Readonly<Record<string, string | undefined>> = {},
  tokens: () => string = () => '',
) {
  let pair = await newPair();
  const foreign = await newPair();
  /** Paths that were asked for, in order. */
  const asked: string[] = [];
  const opaque = new Map<string, object>();
  const answers = new Map<string, FixedAnswer>();
  let away = false;
  const answerOf = async (request: IncomingMessage): Promise<object | undefined> => {
    switch (request.url) {
      case '/.well-known/openid-configuration':
        return {
          issuer,
          jwks_uri: `${issuer}/jwks`,
          introspection_endpoint: `${issuer}/introspect`,
          ...changes,
        };
      case '/jwks':
        return { keys: [{ ...(await exportJWK(pair.publicKey)), kid: pair.kid, alg: 'RS256', use: 'sig' }] };
      case '/introspect':
        return opaque.get(new URLSearchParams(await text(request)).get('token') ?? '') ?? { active: false };
      default:
        return undefined;
    }
  };
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const fixed = answers.get(request.url ?? '');
    if (fixed) {
      response.writeHead(fixed.status ?? 200, fixed.headers).end(fixed.body);
      return;
    }
    if (request.url === '/token' && tokens() !== '') {
      const { authorization = '', 'content-type': type = '' } = request.headers;
      const forwarded = text(request).then((body) =>
        fetch(tokens(), { method: 'POST', body, headers: { authorization, 'content-type': type } }),
      );
      void forwarded.then(async (answer) =>
        response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text()),
      );
      return;
    }
    void answerOf(request).then((answer) => {
      if (away) request.socket.destroy();
      else
        response
          .writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
          .end(JSON.stringify(answer));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const claimsOf = ({ claims = {}, without = [] }: TokenParts): JWTPayload => {
    const now = Math.floor(Date.now() / 1_000);
    const all = {
      iss: issuer,
      aud: 'toolkeeper',
      sub: 'alice',
      iat: now,
      exp: now + 600,
      client_id: 'agent-1',
      ...claims,
    };
    return Object.fromEntries(Object.entries(all).filter(([name]) => !without.includes(name)));
  };
  return {
    issuer,
    asked,
    /** Answers in place of its own, by path. */
    answers,
    claimsOf,
    token: (parts: TokenParts = {}): Promise<string> => {
      const { privateKey, kid } = parts.foreignKey ? foreign : pair;
      const header = { alg: 'RS256', typ: 'at+jwt', kid, ...parts.header };
      return new SignJWT(claimsOf(parts)).setProtectedHeader(header).sign(privateKey);
    },
    /** Signed by HMAC with the public key as it is published, which a careless verifier takes for the secret. */
    hmacToken: async (): Promise<string> =>
      new SignJWT(claimsOf({}))
        .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: pair.kid })
        .sign(createSecretKey(await exportSPKI(pair.publicKey), 'utf8')),
    /** A token that is no JWT. */
    opaqueToken: (parts: TokenParts = {}): string => {
      const token = randomUUID();
      opaque.set(token, { active: true, ...claimsOf(parts) });
      return token;
    },
    rotate: async (): Promise<void> => {
      pair = await newPair();
    },
    setAway: (value: boolean): void => {
      away = value;
    },
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type TestIssuer = Awaited<ReturnType<typeof startIssuer>>;
