import type { PlaybookLabels } from '../playbooks/playbook.types.js';

/** A label's value that matches all values. */
const anyValue = '*';
const kubernautPrefix = 'kubernaut.io/';

/**
 * The labels of a caller's situation, normalised for comparison: short key to values, in lower case. A key has several
 * values if the caller spelled it in several ways; all of them must match.
 */
export type CallerLabels = ReadonlyMap<string, readonly string[]>;

/** A label of a playbook that contradicts the caller's situation. */
interface LabelClash {
  /** Short key. */
  readonly label: string;
  /** The caller's value. */
  readonly wanted: string;
  /** The playbook's values of the label, as its author wrote them. */
  readonly allowed: readonly string[];
}

/** The key in lower case without kubernaut's prefix, such as `environment`. */
export function shortKey(key: string): string {
  const lower = key.trim().toLowerCase();
  return lower.startsWith(kubernautPrefix) ? lower.slice(kubernautPrefix.length) : lower;
}

/** Normalises a caller's labels for comparison. */
export function normalisedLabels(labels: Readonly<Record<string, string>>): CallerLabels {
  const normalised = new Map<string, string[]>();
  for (const [key, value] of Object.entries(labels)) {
    const short = shortKey(key);
    const wanted = value.trim().toLowerCase();
    const values = normalised.get(short) ?? [];
    normalised.set(short, values.includes(wanted) ? values : [...values, wanted].sort());
  }
  return normalised;
}

/**
 * The label filter: each label of the caller's situation must be among the playbook's values of that key. A playbook
 * without the key passes; `*` on either side matches all.
 * @returns the first label of the playbook that contradicts the caller's situation; undefined: the playbook passes
 */
export function clashOf(labels: PlaybookLabels, callerLabels: CallerLabels): LabelClash | undefined {
  if (callerLabels.size === 0) return undefined;
  for (const [key, value] of Object.entries(labels)) {
    const allowed = typeof value === 'string' ? [value] : value;
    for (const wanted of callerLabels.get(shortKey(key)) ?? []) {
      if (wanted !== anyValue && !allowed.some((each) => valuesMatch(each, wanted)))
        return { label: shortKey(key), wanted, allowed };
    }
  }
  return undefined;
}

/** Whether a playbook's value allows a caller's value. */
function valuesMatch(allowed: string, wanted: string): boolean {
  const value = allowed.trim().toLowerCase();
  return value === anyValue || value === wanted;
}
