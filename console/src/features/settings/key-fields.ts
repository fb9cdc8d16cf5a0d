import { localTime, utcTime } from '../../lib/local-time.js';

/** A key's name and limits as the API returns them; null: unlimited. */
interface Limits {
  readonly name: string;
  readonly tools: string[] | null;
  readonly projects: string[] | null;
  readonly mcpServers: string[] | null;
  readonly rate: { readonly calls: number; readonly per: 'second' | 'minute' } | null;
  readonly expiresAt: string | null;
}

/** The name and limits as text of the form's inputs. */
export interface KeyFields {
  readonly name: string;
  /** Separated by commas or white space; empty: all. */
  readonly tools: string;
  readonly projects: string;
  readonly mcpServers: string;
  /** Digits; empty: unlimited. */
  readonly calls: string;
  readonly per: 'second' | 'minute';
  /** Value of a datetime-local input; empty: never. */
  readonly expires: string;
}

export const noFields: KeyFields = {
  name: '',
  tools: '',
  projects: '',
  mcpServers: '',
  calls: '',
  per: 'minute',
  expires: '',
};

export const fieldsOf = ({ name, tools, projects, mcpServers, rate, expiresAt }: Limits): KeyFields => ({
  name,
  tools: tools?.join(', ') ?? '',
  projects: projects?.join(', ') ?? '',
  mcpServers: mcpServers?.join(', ') ?? '',
  calls: rate === null ? '' : String(rate.calls),
  per: rate?.per ?? 'minute',
  expires: localTime(expiresAt),
});

const names = (text: string): string[] | null => {
  const found = text.split(/[\s,]+/).filter((name) => name !== '');
  return found.length === 0 ? null : found;
};

export const limitsIn = ({ name, tools, projects, mcpServers, calls, per, expires }: KeyFields): Limits => ({
  name: name.trim(),
  tools: names(tools),
  projects: names(projects),
  mcpServers: names(mcpServers),
  rate: calls === '' ? null : { calls: Number(calls), per },
  expiresAt: expires === '' ? null : utcTime(expires),
});

/** Only the changed fields: sending back an expiry in the past would be rejected. */
export function changesOf(key: Limits, fields: KeyFields): Partial<Limits> {
  const before = new Map(Object.entries(limitsIn(fieldsOf(key))));
  const isNew = ([name, value]: [string, unknown]): boolean =>
    JSON.stringify(value) !== JSON.stringify(before.get(name));
  return Object.fromEntries(Object.entries(limitsIn(fields)).filter(isNew));
}
