import type { PlaybookLabels } from './playbook.types.js';

const anything = '*';
const prefix = 'kubernaut.io/';

/** Label keys come short (`environment`) or with kubernaut's prefix; case does not matter. */
export function shortKey(key: string): string {
  const lower = key.trim().toLowerCase();
  return lower.startsWith(prefix) ? lower.slice(prefix.length) : lower;
}

/** A caller's labels in the form in which they are compared. */
export function normalisedLabels(labels: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(labels).map(([key, value]) => [shortKey(key), value.trim().toLowerCase()]));
}

/**
 * The hard filter before ranking (DD-CONTEXT-005): each label of the caller's situation must be among the playbook's
 * values of that key. A playbook without the key is not bound by it; `*` on either side matches all.
 */
export function labelsMatch(labels: PlaybookLabels, asked: ReadonlyMap<string, string>): boolean {
  if (asked.size === 0) return true;
  return Object.entries(labels).every(([key, value]) => {
    const wanted = asked.get(shortKey(key));
    if (wanted === undefined || wanted === anything) return true;
    const values = typeof value === 'string' ? [value] : value;
    return values.some((each) => each.trim() === anything || each.trim().toLowerCase() === wanted);
  });
}
