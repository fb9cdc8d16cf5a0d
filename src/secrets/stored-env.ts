/** A value under AES-256-GCM as it stands in the database: base64, the tag at the end of `data`. */
export interface SealedValue {
  readonly alg: 'A256GCM';
  /** Stays when the same value comes under another key: equal configurations compare equal. */
  readonly id: string;
  /** Id of the key that opens it. */
  readonly key: string;
  readonly nonce: string;
  readonly data: string;
}

/** A tool's environment as it is stored, by variable. Text is a value from before there was encryption. */
export type StoredEnv = Readonly<Record<string, SealedValue | string>>;

/** What answers show instead of a value. Sent back it means: as it is. */
export const hiddenValue = '***';

/** Values of environment variables are write-only: an answer shows their names. */
export function withoutValues(env: StoredEnv): Record<string, string> {
  return Object.fromEntries(Object.keys(env).map((name) => [name, hiddenValue]));
}

/** What tells one value of an environment from another without telling anything of either. */
export function identityOf(stored: SealedValue | string): string | undefined {
  return typeof stored === 'string' ? undefined : stored.id;
}

/** An address without the values of its query: tokens stand there. */
export const shownUrl = (url: string): string => url.replaceAll(/([?&][^=&#]*=)[^&#]+/g, `$1${hiddenValue}`);
