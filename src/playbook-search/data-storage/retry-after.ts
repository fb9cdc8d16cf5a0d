/**
 * RFC 9110's `Retry-After`: seconds, or a date.
 * @param now milliseconds since 1970
 * @returns milliseconds to wait; 0 for a header that is absent, over or not understood
 */
export function retryAfterMs(header: string | string[] | undefined, now: number): number {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // A date of HTTP begins with the day's name; Date.parse alone takes almost any number for one.
  const at = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}
