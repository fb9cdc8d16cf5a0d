import { Problem } from '../../common/errors.js';
import { isObject } from '../../common/json.js';

/** Playbooks stored by one request: they are stored in one transaction, during which no other change is. */
export const maxItems = 1_000;

/** One playbook of a request, not validated yet. */
export interface DocumentItem {
  readonly value: unknown;
  /** JSON pointer to it; in YAML of several documents, to its place in the list of all of them. */
  readonly pointer: string;
}

/**
 * The playbooks of an import: one, a list, or `{"playbooks": [...]}`.
 * @throws Problem `invalid_request` when it is empty or holds too many
 */
export function itemsOf(document: unknown): DocumentItem[] {
  const items = listed(document);
  if (items.length === 0) throw invalid('', 'There is no playbook to import');
  if (items.length > maxItems) throw invalid('', `At most ${maxItems} playbooks are imported at a time`);
  return items;
}

function listed(document: unknown): DocumentItem[] {
  if (Array.isArray(document)) return members(document, '');
  if (isObject(document) && 'playbooks' in document) {
    const { playbooks, ...rest } = document;
    const [strange] = Object.keys(rest);
    if (strange !== undefined) throw invalid(`/${strange}`, `property ${strange} should not exist`);
    if (!Array.isArray(playbooks)) throw invalid('/playbooks', 'playbooks must be a list');
    return members(playbooks, '/playbooks');
  }
  return document === undefined || document === null ? [] : [{ value: document, pointer: '' }];
}

const members = (list: readonly unknown[], parent: string): DocumentItem[] =>
  list.map((value, index) => ({ value, pointer: `${parent}/${index}` }));


const invalid = (pointer: string, detail: string): Problem =>
  new Problem('invalid_request', detail, { errors: [{ pointer, detail }] });
