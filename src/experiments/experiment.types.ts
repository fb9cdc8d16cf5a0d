import type { CallResult } from './evaluation.js';

export type Json = Readonly<Record<string, unknown>>;

export const experimentStatuses = ['draft', 'running', 'completed', 'failed'] as const;
export type ExperimentStatus = (typeof experimentStatuses)[number];

/** The part of an experiment that its author may change. */
export interface ExperimentSettings {
  readonly name: string;
  readonly description: string | null;
  readonly modified_request: Json;
  readonly headers: Readonly<Record<string, string>>;
  readonly prompt_variables: Json;
  readonly model_parameters: Json;
}

/** The call that an experiment is compared with; of a request of its author's own there is no more than that. */
export interface Original {
  readonly original_span_id: string | null;
  readonly original_trace_id: string | null;
  readonly original_request: Json;
  readonly original_result: CallResult | null;
  readonly thread_id: string | null;
}

/** The answer of a run. */
export interface RunResult extends CallResult {
  /** As the endpoint gave it. */
  readonly message: Json;
  /** The trace in which the endpoint has the call, where it names one. */
  readonly trace_id: string | null;
}

export interface Experiment extends ExperimentSettings, Original {
  readonly id: string;
  readonly project_id: string;
  readonly status: ExperimentStatus;
  readonly result: RunResult | null;
  readonly error: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** An experiment as lists show it. */
export type ListedExperiment = Pick<
  Experiment,
  | 'id'
  | 'name'
  | 'description'
  | 'original_span_id'
  | 'original_trace_id'
  | 'status'
  | 'error'
  | 'created_at'
  | 'updated_at'
>;

/** The end of a run. */
export type RunEnd =
  | { readonly status: 'completed'; readonly result: RunResult }
  | { readonly status: 'failed'; readonly error: string };
