import type { JobWithMetadata, QueueOptions } from 'pg-boss';
import type { Cancellation } from '../common/cancellation.js';
import { sha256 } from '../common/canonical-json.js';

/** The schema of the queue's tables. */
export const jobsSchema = 'toolkeeper_jobs';

/** A job as the queue stores it. */
export type StoredJob = JobWithMetadata<Readonly<Record<string, unknown>>>;

export interface Queue {
  readonly name: string;
  readonly options: QueueOptions;
  /** Jobs that this replica runs at a time. */
  readonly concurrency: number;
  /**
   * Runs a job; the cancellation tells that it was cancelled, or was given to another replica.
   * @returns the job's output
   * @throws if the job is to be tried again
   */
  run(job: StoredJob, cancellation: Cancellation): Promise<object>;
}

/** The id of a job that is to exist once: the same for the same text. */
export function jobIdOf(text: string): string {
  const hash = sha256(text);
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}
