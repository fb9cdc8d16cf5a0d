import type { ExecutionNotes } from '../../web/contract/tool.js';
import type { PlaybookAnswerView } from './rest/playbook-search.dto.js';

/** The answer of a search, by confidence descending. */
export type PlaybookAnswer = Omit<PlaybookAnswerView, 'explanation'>;

export interface PlaybookSearch {
  readonly query: string;
  /** Lowest confidence shown, 0 to 1. */
  readonly similarityThreshold: number;
  /** Max playbooks in the answer. */
  readonly limit: number;
  /** Labels of the caller's situation, from the call's context. They filter before the ranking. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The answer of a source, and its lifetime. */
export interface FoundPlaybooks {
  readonly answer: PlaybookAnswer;
  /** Milliseconds for which the answer may be cached; absent: until the revision changes. */
  readonly ttlMs?: number;
  /** Whether the source has failed, and this is an earlier answer. */
  readonly stale?: boolean;
}

/** A source of playbooks: the built-in catalogue, or a Data Storage service (DATA_STORAGE_URL). */
export interface PlaybookSource {
  readonly kind: 'catalogue' | 'data_storage';
  /** Max duration of a search in milliseconds. */
  readonly maxMs: number;
  /** Changes whenever an equal search may have another result. It must be cheap, because every call reads it. */
  readonly revision: string;
  /**
   * Searches playbooks.
   * @param signal aborts when nobody waits for the answer any more
   * @throws the signal's reason, or an error with a message for the operator if the source is not available
   */
  search(search: PlaybookSearch, signal: AbortSignal): Promise<FoundPlaybooks>;
}

/** Notes how long an answer may be cached, and whether it is stale, for the execution's record. */
export function noteAge(
  notes: ExecutionNotes,
  { ttlMs, stale }: Pick<FoundPlaybooks, 'ttlMs' | 'stale'>,
): void {
  if (ttlMs !== undefined) notes.ttlMs = ttlMs;
  if (stale) notes['stale'] = true;
}

/** Injects the configured `PlaybookSource`. */
export const PLAYBOOK_SOURCE = Symbol('PlaybookSource');

/** The fallback that an LLM reads in place of an answer. */
export const withoutContext = (reason: string): object => ({
  error: reason,
  fallback: 'continue_without_context',
});
