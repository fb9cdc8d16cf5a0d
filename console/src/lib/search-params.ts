/**
 * The part of an address behind its `?`: plain text, so that it can be read and written by hand. What a screen does not
 * know is left out, and so is what has no value.
 */
export type Search = Readonly<Record<string, unknown>>;
export type Reader<T> = (raw: unknown) => T | undefined;
type Readers = Readonly<Record<string, Reader<unknown>>>;
type SearchOf<R extends Readers> = { [K in keyof R]?: NonNullable<ReturnType<R[K]>> | undefined };

export function parseSearch(query: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(query));
}

export function stringifySearch(search: Search): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search))
    if (['string', 'number', 'boolean'].includes(typeof value) && value !== '')
      params.set(name, String(value));
  const text = params.toString();
  return text === '' ? '' : `?${text}`;
}

/** @returns a function that reads the parameters of one screen, as text or as values */
export const searchParams =
  <R extends Readers>(readers: R) =>
  (raw: Search): SearchOf<R> => {
    const read = Object.entries(readers).map(([name, reader]) => [name, reader(raw[name])] as const);
    return Object.fromEntries(read.filter(([, value]) => value !== undefined)) as SearchOf<R>;
  };

export const text: Reader<string> = (raw) => {
  const value = typeof raw === 'number' ? String(raw) : raw;
  return typeof value === 'string' && value !== '' ? value : undefined;
};

export const oneOf =
  <T extends string>(...allowed: readonly T[]): Reader<T> =>
  (raw) =>
    allowed.find((value) => value === raw);

/** A number that is not negative. */
export const amount: Reader<number> = (raw) => {
  const value = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
};

/** A whole number that is not negative. */
export const count: Reader<number> = (raw) => {
  const value = amount(raw);
  return Number.isSafeInteger(value) ? value : undefined;
};

/** 0 to 1. */
export const share: Reader<number> = (raw) => {
  const value = amount(raw);
  return value !== undefined && value <= 1 ? value : undefined;
};

/** A moment as ISO 8601, in UTC to the millisecond. */
export const moment: Reader<string> = (raw) => {
  const at = typeof raw === 'string' ? new Date(raw) : undefined;
  return at && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined;
};

/** Only `true` is written; absent means false. */
export const flag: Reader<true> = (raw) => (raw === true || raw === 'true' ? true : undefined);
