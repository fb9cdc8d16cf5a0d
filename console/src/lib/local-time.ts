/** A moment as value of a datetime-local input: local time, to the second; empty for none. */
export function localTime(iso: string | null | undefined): string {
  if (iso === null || iso === undefined) return '';
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export const utcTime = (local: string): string => new Date(local).toISOString();
