import type { PlaybookLabels } from '../playbooks/playbook.types.js';

const anything = '*';
const prefix = 'kubernaut.io/';

/**
 * The labels of a caller's situation, in the form in which labels are compared: short key to values, lower case. Who
 * spells a key in two ways and gives it two values demands both.
 */
export type AskedLabels = ReadonlyMap<string, readonly string[]>;

/** A label of a playbook that keeps it from being shown. */
interface LabelClash {
  /** Short key. */
  readonly label: string;
  readonly asked: string;
  /** The values that the playbook is for, as its author wrote them. */
  readonly allowed: readonly string[];
}

/** Label keys come short (`environment`) or with kubernaut's prefix; case does not matter. */
export function shortKey(key: string): string {
  const lower = key.trim().toLowerCase();
  return lower.startsWith(prefix) ? lower.slice(prefix.length) : lower;
}

/** A caller's labels in the form in which they are compared. */
export function normalisedLabels(labels: Readonly<Record<string, string>>): AskedLabels {
  const asked = new Map<string, string[]>();
  for (const [key, value] of Object.entries(labels)) {
    const [short, wanted] = [shortKey(key), value.trim().toLowerCase()];
    const values = asked.get(short) ?? [];
    asked.set(short, values.includes(wanted) ? values : [...values, wanted].sort());
  }
  return asked;
}

/**
 * The hard filter before ranking: each label of the caller's situation must be among the playbook's
 * values of that key. A playbook without the key is not bound by it; `*` on either side matches all.
 */
export const labelsMatch = (labels: PlaybookLabels, asked: AskedLabels): boolean =>
  clashOf(labels, asked) === undefined;

/** @returns the first label of the playbook that the caller's situation breaks; undefined: the playbook may be shown */
export function clashOf(labels: PlaybookLabels, asked: AskedLabels): LabelClash | undefined {
  if (asked.size === 0) return undefined;
  for (const [key, value] of Object.entries(labels)) {
    const allowed = typeof value === 'string' ? [value] : value;
    for (const wanted of asked.get(shortKey(key)) ?? []) {
      if (wanted !== anything && !allowed.some((each) => matches(each, wanted)))
        return { label: shortKey(key), asked: wanted, allowed };
    }
  }
  return undefined;
}

function matches(allowed: string, wanted: string): boolean {
  const value = allowed.trim().toLowerCase();
  return value === anything || value === wanted;
}
