import type { SpanView } from '../../records/spans/reads/trace-views.dto.js';
import type { SpanContents } from '../../records/spans/reads/span-contents.js';

export const issueTypes = ['error', 'performance', 'semantic', 'tool', 'other'] as const;
export const issueSeverities = ['high', 'medium', 'low'] as const;
export const focuses = ['all', 'errors', 'performance', 'semantic'] as const;
export type Focus = (typeof focuses)[number];

/** A span as an analysis reads it. */
export interface AnalysedSpan
  extends
    SpanContents,
    Pick<
      SpanView,
      | 'span_id'
      | 'trace_id'
      | 'thread_id'
      | 'operation_name'
      | 'kind'
      | 'status'
      | 'error_message'
      | 'model'
      | 'tool_name'
      | 'key_id'
      | 'execution_id'
      | 'start_time_us'
      | 'duration_ms'
    > {}

export interface Issue {
  readonly type: (typeof issueTypes)[number];
  readonly severity: (typeof issueSeverities)[number];
  /** The model's quotation from the span. */
  readonly data_snippet: string;
  readonly explanation: string;
  readonly tool_name: string | null;
  readonly tool_call_id: string | null;
  /** The quotation does not stand in the span. */
  readonly unverified?: true;
}

export interface SpanAnalysis {
  readonly span_id: string;
  readonly issue_title: string;
  readonly issues: readonly Issue[];
}

export interface Correlation {
  readonly spans: readonly string[];
  readonly pattern: string;
  readonly description: string;
}

export interface Analysis {
  readonly overall_assessment: string;
  readonly issue_count: Readonly<Record<Issue['severity'], number>>;
  readonly span_analyses: readonly SpanAnalysis[];
  readonly correlations: readonly Correlation[];
  readonly recommendations: readonly string[];
  /** Answers of the model that were no JSON. */
  readonly _raw_response?: string;
}
