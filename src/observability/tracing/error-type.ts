/** Where our errors and Node's carry the word by which they are told apart. */
const wordsOf = ['code', 'type', 'reason', 'name'] as const;

/** The kind of an error in one word, such as `queue_full` or `ECONNREFUSED`; never its message, which may hold contents. */
export function errorTypeOf(error: unknown): string {
  const found = wordsOf
    .map((word) => (error as Partial<Record<string, unknown>> | null | undefined)?.[word])
    .find((word) => typeof word === 'string' && word !== '');
  return typeof found === 'string' ? found.slice(0, 64) : 'unknown';
}
