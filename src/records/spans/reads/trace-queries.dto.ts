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
import { type RunKind, runKinds } from './span-filter.sql.js';

/** Periods that end now. */
export const periods = ['last_hour', 'last_day', 'last_week', 'last_month'] as const;
export type Period = (typeof periods)[number];

const latest = 8_640_000_000_000_000;
const longest = 512;

/** Ids, with commas between them. */
const Ids = (example: string, description = '`null`: has none; `!null`: has one'): PropertyDecorator =>
  OptionalTextList({
    maxItems: 1_000,
    minLength: 1,
    maxLength: longest,
    example: [example],
    description,
  });
const Moment = (description: string): PropertyDecorator =>
  OptionalInt(0, latest, {
    description: `Microseconds since 1970, included; ${description}`,
    example: 1_769_164_200_000_000,
  });
const Ms = (description: string): PropertyDecorator =>
  OptionalInt(0, latest, { description, example: 1_000 });
const Status = (): PropertyDecorator => OptionalOneOf(['success', 'error'], { example: 'error' });
const Dollars = (description: string): PropertyDecorator =>
  OptionalNum({ minimum: 0, example: 0.01, description });
const Offset = (): PropertyDecorator => OptionalInt(0, 10_000_000, { default: 0, example: 0 });
const Texts = (): PropertyDecorator =>
  OptionalFlag({ example: true, description: 'Adds `input` and `output` of each span as text' });
const Messages = (): PropertyDecorator =>
  OptionalFlag({ example: true, description: 'Adds `messages` of models and tools' });
const Labels = (): PropertyDecorator => Ids('support', 'Labels of spans');

export class PeriodQuery extends ProjectQuery {
  @OptionalOneOf(periods, { example: 'last_day', description: 'Ends now; explicit times win' })
  readonly period?: Period;
}

export class ListSpansQuery extends PeriodQuery {
  @Ids('00f067aa0ba902b7') readonly span_ids?: string[];
  @Ids('4bf92f3577b34da6a3ce929d0e0e4736') readonly trace_ids?: string[];
  @Ids('null', '`null`: roots; `!null`: spans below others') readonly parent_span_ids?: string[];
  @Ids('thread-7') readonly thread_ids?: string[];
  @Ids('run-42') readonly run_ids?: string[];
  @Ids('api_invoke', 'Names of operations') readonly operation_names?: string[];
  @Labels() readonly labels?: string[];
  @Moment('of the start') readonly start_time?: number;
  @Moment('of the start') readonly end_time?: number;
  @Ms('Took at least so many milliseconds') readonly min_duration_ms?: number;
  @Ms('Took at most so many milliseconds') readonly max_duration_ms?: number;
  @Dollars('Cost at least so many US dollars') readonly min_cost?: number;
  @Dollars('Cost at most so many US dollars') readonly max_cost?: number;
  @Status() readonly status?: 'success' | 'error';
  @OptionalFlag({ example: true, description: 'Spans with an error, or without one' })
  readonly has_errors?: boolean;
  @OptionalText(256, { example: 'search', description: 'In operation, error, model, tool or label' })
  readonly q?: string;
  @Texts() readonly texts?: boolean;
  @Messages() readonly messages?: boolean;
  @OptionalOneOf(['asc', 'desc'], { default: 'asc', example: 'asc', description: 'By start' })
  readonly order!: 'asc' | 'desc';
  @Limit(100) readonly limit!: number;
  @Offset() readonly offset!: number;
}

export class ListRunsQuery extends PeriodQuery {
  @Ids('run-42') readonly run_ids?: string[];
  @Ids('thread-7') readonly thread_ids?: string[];
  @Ids('4bf92f3577b34da6a3ce929d0e0e4736') readonly trace_ids?: string[];
  @OptionalText(longest, { example: 'gpt-4.1' }) readonly model_name?: string;
  @OptionalOneOf(['model', 'mcp'], {
    example: 'model',
    description: 'With calls of models, or of tools',
  })
  readonly type_filter?: 'model' | 'mcp';
  @OptionalOneOf(['all', ...runKinds], {
    default: 'all',
    example: 'agent',
    description:
      '`agent`: runs with a span that was sent, or several calls of one trace or run; `calls`: single calls, and those of an investigation, thread or session that named no trace; `assistant`: runs of the console’s assistant, which the others leave out',
  })
  readonly kind?: 'all' | RunKind;
  @Labels() readonly labels?: string[];
  @Moment('of a span') readonly start_time_min?: number;
  @Moment('of a span') readonly start_time_max?: number;
  @OptionalText(256, {
    example: 'search',
    description: 'In operation, error, model, tool or label of a span',
  })
  readonly q?: string;
  @OptionalOneOf(['success', 'error', 'failed'], {
    example: 'error',
    description: '`error`: a root span failed; `failed`: any span failed, as `has_errors` says',
  })
  readonly status?: 'success' | 'error' | 'failed';
  @OptionalFlag({ example: true, description: 'Whether any span failed' })
  readonly has_errors?: boolean;
  @Ms('Took at least so many milliseconds') readonly min_duration_ms?: number;
  @Ms('Took at most so many milliseconds') readonly max_duration_ms?: number;
  @Dollars('Cost at least so many US dollars in all') readonly min_cost?: number;
  @Dollars('Cost at most so many US dollars in all') readonly max_cost?: number;
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

export class GroupSpansQuery extends ProjectQuery {
  @OptionalOneOf(['time', 'thread', 'run'], { default: 'time', example: 'thread' })
  readonly group_by!: 'time' | 'thread' | 'run';
  @OptionalInt(0, latest, {
    example: 1_769_162_400_000_000,
    description: 'Of a span of time: its start in microseconds',
  })
  readonly time_bucket?: number;
  @BucketSize() readonly bucket_size!: number;
  @OptionalText(longest, { example: 'thread-7' }) readonly thread_id?: string;
  @OptionalText(longest, { example: 'run-42' }) readonly run_id?: string;
  @Labels() readonly labels?: string[];
  @Limit(100) readonly limit!: number;
  @Offset() readonly offset!: number;
}

export class GroupBody {
  @OneOf(['time', 'thread', 'run'], { example: 'thread' })
  readonly groupBy!: 'time' | 'thread' | 'run';
  @OptionalInt(0, latest, { example: 1_769_162_400_000_000 }) readonly timeBucket?: number;
  @OptionalInt(1, 31_536_000, { example: 3_600, description: 'Seconds; 3600 when absent' })
  readonly bucketSize?: number;
  @OptionalText(longest, { example: 'thread-7' }) readonly threadId?: string;
  @OptionalText(longest, { example: 'run-42' }) readonly runId?: string;
}

export class BatchSpansBody {
  @NestedList(GroupBody, 100, {
    minItems: 1,
    example: [{ groupBy: 'thread', threadId: 'thread-7' }],
  })
  readonly groups!: GroupBody[];
  @OptionalInt(1, 1_000, { example: 100, description: '100 when absent' }) readonly spansPerGroup?: number;
  @OptionalTextList({ maxItems: 1_000, maxLength: longest, example: ['support'] })
  readonly labels?: string[];
}

export class LabelsQuery extends PeriodQuery {
  @OptionalText(longest, { example: 'thread-7' }) readonly thread_id?: string;
  @Limit(100) readonly limit!: number;
}

export class StatsQuery extends PeriodQuery {
  @Moment('a day before the end when absent') readonly start_time?: number;
  @Moment('now when absent') readonly end_time?: number;
  @Labels() readonly labels?: string[];
}

export class TimeseriesQuery extends StatsQuery {
  @BucketSize() readonly bucket_size!: number;
}

export class CompareQuery extends ProjectQuery {
  @Text(longest, { example: 'run-42', description: 'A run' }) readonly a!: string;
  @Text(longest, { example: 'run-43', description: 'The run that it is compared with' }) readonly b!: string;
}

export class TraceParams {
  @Text(longest, { example: '4bf92f3577b34da6a3ce929d0e0e4736' }) readonly id!: string;
}

export class FindQuery extends ProjectQuery {
  @Text(longest, { example: 'run-42', description: 'Of a trace, a run, a thread, a span or an execution' })
  readonly id!: string;
}

export class WindowQuery extends ProjectQuery {
  @OptionalText(longest, {
    example: '00f067aa0ba902b7',
    description: 'The span in the middle; times do not matter then',
  })
  readonly span_id?: string;
  @Moment('spans that end before it are left out') readonly start_time?: number;
  @Moment('spans that start after it are left out') readonly end_time?: number;
  @Texts() readonly texts?: boolean;
  @Messages() readonly messages?: boolean;
  @OptionalInt(1, 500, { default: 100, example: 100 }) readonly limit!: number;
}

export class RunParams {
  @Text(longest, { example: 'run-42' }) readonly id!: string;
}

export class ThreadParams {
  @Text(longest, { example: 'thread-7' }) readonly id!: string;
}

export class RunSpansQuery extends ProjectQuery {
  @Limit(100) readonly limit!: number;
  @Offset() readonly offset!: number;
}
