const keyBytes = 32;

/**
 * Keys as they are written in SECRETS_KEY and in the key file: hex or base64, separated by commas or white space.
 * @returns the keys in their order, 32 bytes each; undefined when there is none, or one that is none
 */
export function secretKeysIn(text: string): Buffer[] | undefined {
  const keys = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(decode);
  return keys.length > 0 && keys.every((key) => key?.length === keyBytes) ? (keys as Buffer[]) : undefined;
}

function decode(word: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(word)) return Buffer.from(word, 'hex');
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(word) ? Buffer.from(word, 'base64') : undefined;
}
