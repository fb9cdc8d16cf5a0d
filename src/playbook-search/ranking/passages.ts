import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';

/**
 * The texts by whose meaning a playbook is found: each signal and each alias by itself. A sentence about an incident
 * is nearer to a phrase about it than to a page about its remedy (decision 007).
 */
export function passagesOf({
  signals,
  aliases,
  name,
}: Pick<SearchablePlaybook, 'signals' | 'aliases' | 'name'>): string[] {
  const phrases = [...signals, ...aliases].filter((phrase) => phrase.trim() !== '');
  return phrases.length > 0 ? phrases : [name];
}

/** @returns the vector in the middle of others, of length 1, so that one vector stands for all of a playbook's passages */
export function middleOf(vectors: readonly Float32Array[]): Float32Array<ArrayBuffer> {
  const middle = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors) vector.forEach((each, at) => (middle[at] = (middle[at] ?? 0) + each));
  const length = Math.hypot(...middle);
  return length > 0 ? middle.map((each) => each / length) : middle;
}
