import type { ProcessLimits, ProcessSpec } from '../../process-pool/pool.types.js';
import type { PlainEnv } from '../../secrets/env-cipher.js';
import { Redactor } from '../../secrets/redactor.js';

/** Stands in values of a tool's `env` for the access token of the caller whose process it is. */
export const tokenMark = '${OAUTH_TOKEN}';
/** Settings of the sign-in, which processes do not get. */
const ofSignIn = ['CLIENT_ID', 'CLIENT_SECRET', 'ISSUER', 'RESOURCE', 'SCOPE'].map((name) => `OAUTH_${name}`);

export const withoutSignIn = (env: PlainEnv): PlainEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !ofSignIn.includes(name)));

/** A process of one caller: the token is in its environment alone, and taken out of what it writes. */
export function withToken(
  spec: ProcessSpec,
  token: string | undefined,
): { readonly spec: ProcessSpec } & Pick<ProcessLimits, 'clean'> {
  if (token === undefined) return { spec };
  const filled = Object.entries(spec.env).map(([name, it]) => [name, it.replaceAll(tokenMark, () => token)]);
  const redactor = new Redactor({ OAUTH_TOKEN: token });
  return {
    spec: { ...spec, env: Object.fromEntries(filled) as PlainEnv },
    clean: (text, cut) => redactor.clean(text, cut),
  };
}
