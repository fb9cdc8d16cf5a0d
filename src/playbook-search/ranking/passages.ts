import type { SearchablePlaybook } from '../../playbooks/playbook.types.js';

/** Characters of a passage: more than that some models refuse, and others cut it off by themselves. */
const longest = 1_000;

/**
 * The texts by whose meaning a playbook is found: each signal and each alias by itself. A sentence about an incident
 * is nearer to a phrase about it than to a page about its remedy (decision 007). Of a playbook without such phrases
 * its name and its description are taken, the name twice: it says what goes wrong, the description what to do.
 */
export function passagesOf({
  signals,
  aliases,
  name,
  description,
}: Pick<SearchablePlaybook, 'signals' | 'aliases' | 'name' | 'description'>): string[] {
  const phrases = [...signals, ...aliases].filter((phrase) => phrase.trim() !== '');
  const passages = phrases.length > 0 ? phrases : [name, name, description];
  return passages.map((passage) => [...passage].slice(0, longest).join(''));
}

/** @returns the vector in the middle of others, of length 1, so that one vector stands for all of a playbook's passages */
export function middleOf(vectors: readonly Float32Array[]): Float32Array<ArrayBuffer> {
  const middle = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors) vector.forEach((each, at) => (middle[at] = (middle[at] ?? 0) + each));
  const length = Math.hypot(...middle);
  return length > 0 ? middle.map((each) => each / length) : middle;
}
