import {
  Limit,
  NestedList,
  OneOf,
  OptionalFlag,
  OptionalInt,
  OptionalNum,
  OptionalOneOf,
  OptionalText,
  OptionalTextList,
  ProjectQuery,
  Text,
} from '../../../web/rest/dto.js';
import { latestUs, type RunKind, runKinds } from './span-filter.sql.js';

/** Periods that end now. */
export const periods = ['last_hour', 'last_day', 'last_week', 'last_month'] as const;
export type Period = (typeof periods)[number];

/** Max characters of an id or name. */
const maxIdLength = 512;

/** Comma-separated ids. */
const Ids = (
  example: string,
  description = '`null`: spans without one; `!null`: spans with one',
): PropertyDecorator =>
  OptionalTextList({
    maxItems: 1_000,
    minLength: 1,
    maxLength: maxIdLength,
    example: [example],
    description,
  });
const Moment = (description: string): PropertyDecorator =>
  OptionalInt(0, latestUs, {
    description: `${description}. Microseconds since 1970, included`,
    example: 1_769_164_200_000_000,
  });
const Ms = (description: string): PropertyDecorator =>
  OptionalInt(0, latestUs, { description: `${description}, milliseconds`, example: 1_000 });
const Status = (): PropertyDecorator => OptionalOneOf(['success', 'error'], { example: 'error' });
const Dollars = (description: string): PropertyDecorator =>
  OptionalNum({ minimum: 0, example: 0.01, description: `${description}, US dollars` });
const Offset = (): PropertyDecorator => OptionalInt(0, 10_000_000, { default: 0, example: 0 });
const Texts = (): PropertyDecorator =>
  OptionalFlag({ example: true, description: 'Adds `input` and `output` of each span as text' });
const Messages = (): PropertyDecorator =>
  OptionalFlag({
    example: true,
    description: 'Adds `messages` of models and tools, in one form for all dialects',
  });
const Labels = (): PropertyDecorator => Ids('support', 'Labels of spans');

/** A period that ends now. */
export class PeriodQuery extends ProjectQuery {
  @OptionalOneOf(periods, { example: 'last_day', description: 'Ends now; explicit times take precedence' })
  readonly period?: Period;
}

export class ListSpansQuery extends PeriodQuery {
  @Ids('00f067aa0ba902b7') readonly span_ids?: string[];
  @Ids('4bf92f3577b34da6a3ce929d0e0e4736') readonly trace_ids?: string[];
  @Ids('null', '`null`: root spans; `!null`: spans below others') readonly parent_span_ids?: string[];
  @Ids('thread-7') readonly thread_ids?: string[];
  @Ids('run-42') readonly run_ids?: string[];
  @Ids('api_invoke', 'Names of operations') readonly operation_names?: string[];
  @Labels() readonly labels?: string[];
  @Moment('Earliest start') readonly start_time?: number;
  @Moment('Latest start') readonly end_time?: number;
  @Ms('Min duration') readonly min_duration_ms?: number;
  @Ms('Max duration') readonly max_duration_ms?: number;
  @Dollars('Min cost') readonly min_cost?: number;
  @Dollars('Max cost') readonly max_cost?: number;
  @Status() readonly status?: 'success' | 'error';
  @OptionalFlag({ example: true, description: '`true`: spans with an error; `false`: without one' })
  readonly has_errors?: boolean;
  @OptionalText(256, { example: 'search', description: 'Text in operation, error, model, tool or label' })
  readonly q?: string;
  @Texts() readonly texts?: boolean;
  @Messages() readonly messages?: boolean;
  @OptionalOneOf(['asc', 'desc'], { default: 'asc', example: 'asc', description: 'By start' })
  readonly order!: 'asc' | 'desc';
  @Limit(100) readonly limit!: number;
  @Offset() readonly offset!: number;
}

/** Conditions on runs and other groups, and on their spans. */
export class ListRunsQuery extends PeriodQuery {
  @Ids('run-42') readonly run_ids?: string[];
  @Ids('thread-7') readonly thread_ids?: string[];
  @Ids('4bf92f3577b34da6a3ce929d0e0e4736') readonly trace_ids?: string[];
  @OptionalText(maxIdLength, { example: 'gpt-4.1' }) readonly model_name?: string;
  @OptionalOneOf(['model', 'mcp'], {
    example: 'model',
    description: 'Runs with a call of a model (`model`) or tool (`mcp`)',
  })
  readonly type_filter?: 'model' | 'mcp';
  @OptionalOneOf(['all', ...runKinds], {
    default: 'all',
    example: 'agent',
    description:
      '`agent`: runs with a span that was sent, or with several calls of one trace or run; `calls`: single calls, and calls without a trace grouped by investigation, thread or session; `assistant`: runs of the console’s assistant, which the other kinds do not contain',
  })
  readonly kind?: 'all' | RunKind;
  @Labels() readonly labels?: string[];
  @Moment('Earliest start of a span') readonly start_time_min?: number;
  @Moment('Latest start of a span') readonly start_time_max?: number;
  @OptionalText(256, {
    example: 'search',
    description: 'Text in operation, error, model, tool or label of a span',
  })
  readonly q?: string;
  @OptionalOneOf(['success', 'error', 'failed'], {
    example: 'error',
    description: '`error`: a root span failed; `failed`: any span failed, like `has_errors`',
  })
  readonly status?: 'success' | 'error' | 'failed';
  @OptionalFlag({ example: true, description: 'Whether any span failed' })
  readonly has_errors?: boolean;
  @Ms('Min duration') readonly min_duration_ms?: number;
  @Ms('Max duration') readonly max_duration_ms?: number;
  @Dollars('Min total cost') readonly min_cost?: number;
  @Dollars('Max total cost') readonly max_cost?: number;
  @Limit(100) readonly limit!: number;
  @Offset() readonly offset!: number;
}

const BucketSize = (): PropertyDecorator =>
  OptionalInt(1, 31_536_000, { example: 3_600, default: 3_600, description: 'Seconds' });

export class ListGroupsQuery extends ListRunsQuery {
  @OptionalOneOf(['time', 'thread', 'run'], { default: 'time', example: 'thread' })
  readonly group_by!: 'time' | 'thread' | 'run';
  @BucketSize() readonly bucket_size!: number;
}

/** One group, of which the spans are listed. */
export class GroupSpansQuery extends ProjectQuery {
  @OptionalOneOf(['time', 'thread', 'run'], { default: 'time', example: 'thread' })
  readonly group_by!: 'time' | 'thread' | 'run';
  @OptionalInt(0, latestUs, {
    example: 1_769_162_400_000_000,
    description: 'Start of the bucket, in microseconds; for groups by time',
  })
  readonly time_bucket?: number;
  @BucketSize() readonly bucket_size!: number;
  @OptionalText(maxIdLength, { example: 'thread-7' }) readonly thread_id?: string;
  @OptionalText(maxIdLength, { example: 'run-42' }) readonly run_id?: string;
  @Labels() readonly labels?: string[];
  @Limit(100) readonly limit!: number;
  @Offset() readonly offset!: number;
}

/** One group of a batch, in the camel case of vLLora's clients. */
export class GroupBody {
  @OneOf(['time', 'thread', 'run'], { example: 'thread' })
  readonly groupBy!: 'time' | 'thread' | 'run';
  @OptionalInt(0, latestUs, { example: 1_769_162_400_000_000 }) readonly timeBucket?: number;
  @OptionalInt(1, 31_536_000, { example: 3_600, description: 'Seconds; default: 3600' })
  readonly bucketSize?: number;
  @OptionalText(maxIdLength, { example: 'thread-7' }) readonly threadId?: string;
  @OptionalText(maxIdLength, { example: 'run-42' }) readonly runId?: string;
}

export class BatchSpansBody {
  @NestedList(GroupBody, 100, { minItems: 1, example: [{ groupBy: 'thread', threadId: 'thread-7' }] })
  readonly groups!: GroupBody[];
  @OptionalInt(1, 1_000, { example: 100, description: 'Default: 100' }) readonly spansPerGroup?: number;
  @OptionalTextList({ maxItems: 1_000, maxLength: maxIdLength, example: ['support'] })
  readonly labels?: string[];
}

export class LabelsQuery extends PeriodQuery {
  @OptionalText(maxIdLength, { example: 'thread-7' }) readonly thread_id?: string;
  @Limit(100) readonly limit!: number;
}

export class StatsQuery extends PeriodQuery {
  @Moment('Earliest start; default: a day before the end') readonly start_time?: number;
  @Moment('Latest start; default: now') readonly end_time?: number;
  @Labels() readonly labels?: string[];
}

export class TimeseriesQuery extends StatsQuery {
  @BucketSize() readonly bucket_size!: number;
}

export class CompareQuery extends ProjectQuery {
  @Text(maxIdLength, { example: 'run-42', description: 'A run' }) readonly a!: string;
  @Text(maxIdLength, { example: 'run-43', description: 'The run to compare it with' }) readonly b!: string;
}

export class TraceParams {
  @Text(maxIdLength, { example: '4bf92f3577b34da6a3ce929d0e0e4736' }) readonly id!: string;
}

export class FindQuery extends ProjectQuery {
  @Text(maxIdLength, { example: 'run-42', description: 'Id of a trace, run, thread, span or execution' })
  readonly id!: string;
}

/** A part of a trace: around a span, or in a range of time. */
export class WindowQuery extends ProjectQuery {
  @OptionalText(maxIdLength, {
    example: '00f067aa0ba902b7',
    description: 'The span in the middle; then times are ignored',
  })
  readonly span_id?: string;
  @Moment('Earliest end') readonly start_time?: number;
  @Moment('Latest start') readonly end_time?: number;
  @Texts() readonly texts?: boolean;
  @Messages() readonly messages?: boolean;
  @OptionalInt(1, 500, { default: 100, example: 100 }) readonly limit!: number;
}

export class RunParams {
  @Text(maxIdLength, { example: 'run-42' }) readonly id!: string;
}

export class ThreadParams {
  @Text(maxIdLength, { example: 'thread-7' }) readonly id!: string;
}

export class RunSpansQuery extends ProjectQuery {
  @Limit(100) readonly limit!: number;
  @Offset() readonly offset!: number;
}
