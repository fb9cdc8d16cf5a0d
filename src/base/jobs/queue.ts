import type { JobWithMetadata, QueueOptions } from 'pg-boss';
import type { Cancellation } from '../common/cancellation.js';

/** The schema of the queue's tables. */
export const jobsSchema = 'toolkeeper_jobs';

/** A job as the queue stores it. */
export type StoredJob = JobWithMetadata<Readonly<Record<string, unknown>>>;

/** A queue of jobs, and how to run them. */
export interface Queue {
  readonly name: string;
  readonly options: QueueOptions;
  /** Max jobs that this replica runs at a time. */
  readonly concurrency: number;
  /**
   * Runs a job.
   * @param cancellation cancelled if the job was cancelled, or given to another replica
   * @returns the job's output
   * @throws Error if the job shall be tried again
   */
  run(job: StoredJob, cancellation: Cancellation): Promise<object>;
}
