/** The least version that is greater: `1.2.3` → `1.2.4`, `v2` → `2.0.1`, `1.3.0-rc1` → `1.3.0`. */
export function nextVersion(version: string): string {
  const [, major, minor, patch, pre] = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-)?/.exec(version) ?? [];
  if (major === undefined) return '1.0.0';
  const last = Number(patch ?? 0) + (pre === undefined ? 1 : 0);
  return `${major}.${minor ?? 0}.${last}`;
}
