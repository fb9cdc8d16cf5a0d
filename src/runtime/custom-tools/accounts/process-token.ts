import type { ProcessLimits, ProcessSpec } from '../../process-pool/pool.types.js';
import type { PlainEnv } from '../../secrets/env-cipher.js';
import { Redactor } from '../../secrets/redactor.js';

/** Placeholder in a tool's `env` for the access token of the process's caller. */
export const tokenPlaceholder = '${OAUTH_TOKEN}';
/** Variables of the sign-in, which processes do not get. */
const signInNames = ['CLIENT_ID', 'CLIENT_SECRET', 'ISSUER', 'RESOURCE', 'SCOPE'].map(
  (name) => `OAUTH_${name}`,
);

/** The environment of a process: without the variables of the sign-in. */
export const withoutSignIn = (env: PlainEnv): PlainEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !signInNames.includes(name)));

/** Adds a caller's token to the environment of a process, and redacts it in the output. */
export function withToken(
  spec: ProcessSpec,
  token: string,
): { readonly spec: ProcessSpec } & Pick<ProcessLimits, 'clean'> {
  const filled = Object.entries(spec.env).map(([name, value]) => [
    name,
    value.replaceAll(tokenPlaceholder, () => token),
  ]);
  const redactor = new Redactor({ OAUTH_TOKEN: token });
  return {
    spec: { ...spec, env: Object.fromEntries(filled) as PlainEnv },
    clean: (text, cut) => redactor.clean(text, cut),
  };
}
