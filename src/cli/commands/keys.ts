import { createKey, listKeys, revokeKey } from '../../../client/sdk.gen.js';
import type { CreateKeyBody } from '../../../client/types.gen.js';
import { allOf, ask, type Session } from '../api.js';
import { CliError, exit } from '../output.js';

/** Options of `key create`. */
interface KeyOptions {
  readonly scope: string[];
  readonly tool?: string[];
  readonly project?: string[];
  readonly rate?: string;
  readonly expires?: string;
  readonly owner?: string;
}

/** Creates a key. Prints only the key on stdout, for scripts. */
export async function create({ client, out }: Session, name: string, options: KeyOptions): Promise<void> {
  const { scope, tool, project, rate, expires, owner } = options;
  const body = {
    name,
    scopes: scope as CreateKeyBody['scopes'],
    ...(tool && { tools: tool }),
    ...(project && { projects: project }),
    ...(rate !== undefined && { rate: rateOf(rate) }),
    ...(expires !== undefined && { expiresAt: expires }),
    ...(owner !== undefined && { owner }),
  };
  const created = await ask(createKey({ client, body }));
  out.answer(created, () => created.key);
  out.note(`${created.id} was created. Save the key: it is not shown again`);
}

/** Parses `<calls>/<period>`. @throws CliError `usage` */
function rateOf(text: string): NonNullable<CreateKeyBody['rate']> {
  const [, calls, per] = /^(\d{1,7})\/(\w+)$/.exec(text) ?? [];
  if (calls === undefined)
    throw new CliError('--rate must be <calls>/<period>, such as 100/minute', exit.usage);
  // The server checks the period.
  return { calls: Number(calls), per: per as NonNullable<CreateKeyBody['rate']>['per'] };
}

/** Prints all keys, without their secrets. */
export async function list({ client, out }: Session): Promise<void> {
  const keys = await allOf((query) => ask(listKeys({ client, query })));
  out.answer(keys, () =>
    out.table(
      ['ID', 'STATUS', 'LAST USED', 'NAME', 'SCOPES'],
      keys.map((key) => [key.id, key.status, key.lastUsedAt ?? 'never', key.name, key.scopes.join(' ')]),
    ),
  );
}

/** Revokes a key for good. */
export async function revoke({ client, out }: Session, id: string): Promise<void> {
  await ask(revokeKey({ client, path: { id } }));
  out.answer({ id, revoked: true }, () => `${id} is revoked: every server refuses it within a second`);
}
