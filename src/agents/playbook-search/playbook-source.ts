import type { ExecutionNotes } from '../../web/contract/tool.js';
import type { PlaybookAnswerView } from './rest/playbook-search.dto.js';

/** The answer of a search, by confidence descending. */
export type PlaybookAnswer = Omit<PlaybookAnswerView, 'explanation'>;

export interface PlaybookSearch {
  readonly query: string;
  /** Lowest confidence shown, 0 to 1. */
  readonly similarityThreshold: number;
  /** Playbooks shown at most. */
  readonly limit: number;
  /** Labels of the caller's situation: they come from the call's context, and filter before anything is ranked. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The answer of a source, and for how long it stands. */
export interface FoundPlaybooks {
  readonly answer: PlaybookAnswer;
  /** Time for which it may answer equal searches, in milliseconds; 0: none; absent: as long as the revision stays. */
  readonly ttlMs?: number;
  /** Whether the source failed and this is its earlier answer. */
  readonly stale?: boolean;
}

/** A source of playbooks: the built-in catalogue, or a Data Storage service (DATA_STORAGE_URL). */
export interface PlaybookSource {
  readonly kind: 'catalogue' | 'data_storage';
  /** The longest that a search takes, in milliseconds. */
  readonly maxMs: number;
  /** Another one whenever an equal search may find something else. Read for every call: it must cost nothing. */
  readonly revision: string;
  /**
   * @param signal aborts when nobody waits for the answer any more; the search then ends at once
   * @throws the signal's reason, or another error when the source cannot be read now; its message is for the operator
   */
  search(search: PlaybookSearch, signal: AbortSignal): Promise<FoundPlaybooks>;
}

/** Records the age of an answer in the metadata of the execution. */
export function noteAge(
  notes: ExecutionNotes,
  { ttlMs, stale }: Pick<FoundPlaybooks, 'ttlMs' | 'stale'>,
): void {
  if (ttlMs !== undefined) notes.ttlMs = ttlMs;
  if (stale) notes['stale'] = true;
}

export const PLAYBOOK_SOURCE = Symbol('PlaybookSource');

/** The fallback that an LLM reads in place of an answer. */
export const withoutContext = (reason: string): object => ({
  error: reason,
  fallback: 'continue_without_context',
});
