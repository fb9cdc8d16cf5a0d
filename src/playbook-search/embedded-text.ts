import type { SearchablePlaybook } from './playbook.types.js';

/** What of a playbook is embedded. */
export type EmbeddedPlaybook = Pick<
  SearchablePlaybook,
  'name' | 'description' | 'signals' | 'aliases' | 'when_to_use'
>;

/**
 * A playbook as its embedding sees it. Labels never stand in it: they would move a cosine by a few thousandths, and
 * a playbook for the wrong environment would win by them; they filter instead.
 */
export function embeddedText(playbook: EmbeddedPlaybook): string {
  const { name, description, when_to_use: whenToUse, aliases } = playbook;
  return [name, description, whenToUse ?? '', ...aliases].filter((part) => part.trim() !== '').join('. ');
}
