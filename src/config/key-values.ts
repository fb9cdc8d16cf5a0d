/**
 * Pairs as OpenTelemetry's variables write them: `key=value`, comma-separated, values percent-encoded.
 * @returns undefined when it is not so
 */
export function keyValuesIn(text: string): Record<string, string> | undefined {
  const pairs = text.split(',').map((pair) => {
    const [key = '', ...value] = pair.split('=');
    return [key.trim(), value.length > 0 ? decode(value.join('=').trim()) : undefined] as const;
  });
  const isPair = (pair: readonly [string, string | undefined]): pair is readonly [string, string] =>
    /^[^\s=]+$/.test(pair[0]) && pair[1] !== undefined;
  return pairs.every(isPair) ? Object.fromEntries(pairs) : undefined;
}

function decode(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
