import type { JobWithMetadata, QueueOptions } from 'pg-boss';
import type { Cancellation } from '../common/cancellation.js';

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
