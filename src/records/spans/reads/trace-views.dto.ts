import type { Type } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import {
  AnyObject,
  Example,
  Many,
  NullableNumber,
  NullableText,
  Numbers,
  OptionalExample,
  OrNull,
  Texts,
} from '../../../web/rest/dto.js';
import { spanKinds } from '../span-row.js';
import type { SpansSummary } from './summary.js';

const us = 1_769_164_200_000_000;
const Ids = (example: string): PropertyDecorator => ApiProperty({ type: [String], example: [example] });

export class PaginationView {
  @Example(0) readonly offset!: number;
  @Example(100) readonly limit!: number;
  @Example(1) readonly total!: number;
}

/** One page of a list, in the envelope that vLLora's clients know. */
export interface Listed<T> {
  readonly data: T[];
  readonly pagination: PaginationView;
}

/** The class of a page with items of a class, for openapi.json. */
export function ListOf<T>(item: Type<T>): Type<Listed<T>> {
  class ListView implements Listed<T> {
    @ApiProperty({ type: [item] }) readonly data!: T[];
    @ApiProperty() readonly pagination!: PaginationView;
  }
  return ListView;
}

/** A tool call that a model requested; or the call of a tool's own span. */
export class AskedToolView {
  @NullableText('call-1') readonly id!: string | null;
  @Example('search', 'Empty in the span of the tool') readonly name!: string;
  @Example('{"q":"weather"}') readonly input!: string;
  @NullableText('It is sunny.', 'Null if it is not among the messages') readonly result!: string | null;
}

export class MessageView {
  @Example('assistant') readonly role!: string;
  @Example('I look.') readonly text!: string;
  @Many(AskedToolView, 'Tool calls that it requests') readonly calls!: AskedToolView[];
  @NullableText(
    'call-1',
    'Id of the call whose result this message is, if the call is not among the messages',
  )
  readonly answers!: string | null;
}

/** A span. Times are in microseconds since the epoch, costs in US dollars. */
export class SpanView {
  @Example('4bf92f3577b34da6a3ce929d0e0e4736') readonly trace_id!: string;
  @Example('00f067aa0ba902b7') readonly span_id!: string;
  @NullableText('a3ce929d0e0e4736') readonly parent_span_id!: string | null;
  @NullableText('thread-7') readonly thread_id!: string | null;
  @Example('run-42', 'The trace id if the span names no run') readonly run_id!: string;
  @Example('api_invoke') readonly operation_name!: string;
  @ApiProperty({ enum: spanKinds, example: 'llm' }) readonly kind!: string;
  @ApiProperty({ enum: ['success', 'error'], example: 'success' }) readonly status!: string;
  @NullableText('The model is overloaded') readonly error_message!: string | null;
  @Example(us) readonly start_time_us!: number;
  @Example(us + 1_500_000) readonly finish_time_us!: number;
  @Example(1_500) readonly duration_ms!: number;
  @NullableText('gpt-4.1') readonly model!: string | null;
  @NullableText('search') readonly tool_name!: string | null;
  @NullableText('support') readonly label!: string | null;
  @NullableNumber(0.0021) readonly cost!: number | null;
  @NullableText('reported', '`reported` by the sender, or `computed` from the tokens')
  readonly cost_source!: string | null;
  @NullableNumber(812) readonly input_tokens!: number | null;
  @NullableNumber(64) readonly output_tokens!: number | null;
  @NullableNumber(512) readonly cached_tokens!: number | null;
  @NullableNumber(240, 'Milliseconds to the first token') readonly ttft_ms!: number | null;
  @NullableText(
    '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f',
    'The execution of this server that the span describes',
  )
  readonly execution_id!: string | null;
  @NullableText('019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f', 'The API key that sent the span, or made the call')
  readonly key_id!: string | null;
  @NullableText('claude-code', 'The agent (OAuth client) whose access token sent the span')
  readonly client_id!: string | null;
  @NullableText('not found', 'The pattern of an error that a text of the span reports')
  readonly semantic_pattern!: string | null;
  @NullableText('medium') readonly semantic_severity!: string | null;
  @NullableText('output', 'The part of the span with this error') readonly semantic_source!: string | null;
  @NullableText('Error: the page was not found', 'The text around this error')
  readonly semantic_snippet!: string | null;
  @AnyObject({
    required: false,
    example: { 'gen_ai.request.model': 'gpt-4.1' },
    description:
      'Attributes of the span. `toolkeeper.cut` in them says what was left out, for example if a page would be larger than 16 MiB',
  })
  readonly attribute?: Record<string, unknown>;
  @OptionalExample('What is the weather?', 'A text, or JSON such as messages; with `texts`')
  readonly input?: string;
  @OptionalExample('It is sunny.', 'A text or JSON; with `texts`') readonly output?: string;
  @ApiPropertyOptional({
    type: [MessageView],
    description: 'Messages of a model call or tool, in one form for all dialects; with `messages`',
  })
  readonly messages?: MessageView[];
}

export class SpanListView extends ListOf(SpanView) {}

/** The figures of a group of spans. Each model call counts once. */
export class FiguresOfGroupView {
  @Ids('thread-7') readonly thread_ids!: string[];
  @Ids('4bf92f3577b34da6a3ce929d0e0e4736') readonly trace_ids!: string[];
  @Texts(['00f067aa0ba902b7'], 'Spans without a parent in the group') readonly root_span_ids!: string[];
  @Ids('gpt-4.1') readonly request_models!: string[];
  @Ids('gpt-4.1-2025-04-14') readonly used_models!: string[];
  @Ids('search') readonly used_tools!: string[];
  @Ids('support') readonly labels!: string[];
  @NullableText('run', 'Operation of the first root span') readonly root_operation!: string | null;
  @Example(3, 'Calls of models') readonly llm_calls!: number;
  @Example(0.0063) readonly cost!: number;
  @NullableNumber(2_436) readonly input_tokens!: number | null;
  @NullableNumber(192) readonly output_tokens!: number | null;
  @Example(us) readonly start_time_us!: number;
  @Example(us + 9_000_000) readonly finish_time_us!: number;
  @Example(9_000) readonly duration_ms!: number;
  @Example(
    '-mmmmmmmmmm-ttttt-mmmmmmmm------e-------',
    'A letter for each fortieth of the time: `e`: a span failed, `t`: a tool ran, `m`: a model was called, `-`: none of these',
  )
  readonly activity!: string;
  @Example(14) readonly total_spans!: number;
  @Example(false, 'Whether any span failed') readonly has_errors!: boolean;
  @Example(0, 'Spans that failed') readonly error_count!: number;
  @Example(1, 'Errors that texts of the spans report') readonly semantic_error_count!: number;
  @ApiProperty({ enum: ['success', 'error'], example: 'success', description: '`error`: a root span failed' })
  readonly status!: string;
  @Ids('The model is overloaded') readonly errors!: string[];
}

export class RunView extends FiguresOfGroupView {
  @Example('run-42') readonly run_id!: string;
}

export class RunListView extends ListOf(RunView) {}

export class RunDetailsView {
  // With `nullable` next to a reference, a schema would still require an object.
  @OrNull(RunView) readonly data!: RunView | null;
}

export class GroupKeyView {
  @OptionalExample(us, 'Start of the bucket, microseconds') readonly time_bucket?: number;
  @OptionalExample('thread-7') readonly thread_id?: string;
  @OptionalExample('run-42') readonly run_id?: string;
}

export class GroupView extends FiguresOfGroupView {
  @ApiProperty({ enum: ['time', 'thread', 'run'], example: 'thread' }) readonly group_by!: string;
  @ApiProperty() readonly group_key!: GroupKeyView;
  @Ids('run-42') readonly run_ids!: string[];
}

export class GroupListView extends ListOf(GroupView) {}

export class SpansOfGroupView {
  @Many(SpanView) readonly spans!: SpanView[];
  @ApiProperty() readonly pagination!: PaginationView;
}

export class BatchSpansView {
  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: '#/components/schemas/SpansOfGroupView' },
    description: 'By `time-<start>`, `thread-<id>` or `run-<id>`',
    example: {},
  })
  readonly data!: Record<string, SpansOfGroupView>;
}

export class LabelView {
  @Example('support') readonly name!: string;
  @Example(12, 'Number of spans with the label') readonly count!: number;
}

export class LabelsView {
  @Many(LabelView) readonly labels!: LabelView[];
  @Example(1, 'Number of labels') readonly total!: number;
}

/** Figures of spans. Percentiles are of the durations of model calls. */
export class FiguresView {
  @Example(120) readonly spans!: number;
  @Example(30, 'Calls of models') readonly calls!: number;
  @Example(2, 'Spans that failed') readonly errors!: number;
  @Example(0.063) readonly cost!: number;
  @Example(24_360) readonly input_tokens!: number;
  @Example(1_920) readonly output_tokens!: number;
  @NullableNumber(1_500) readonly p50_ms!: number | null;
  @NullableNumber(4_000) readonly p95_ms!: number | null;
}

export class StatsView extends FiguresView {
  @Example(us) readonly start_time_us!: number;
  @Example(us + 86_400_000_000) readonly end_time_us!: number;
}

/** A figure of two runs, and its change. */
export class DifferenceView {
  @Example(0.0063) readonly a!: number;
  @Example(0.0084) readonly b!: number;
  @Example(0.0021, 'From a to b') readonly change!: number;
  @NullableNumber(33.3, 'The change in percent of a; null if a is 0')
  readonly change_percent!: number | null;
}

export class RunComparisonView {
  @AnyObject({
    example: {},
    description: 'The summary of run a, as the tool `fetch_spans_summary` returns it',
  })
  readonly a!: SpansSummary;
  @AnyObject({ example: {}, description: 'The summary of run b' }) readonly b!: SpansSummary;
  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(DifferenceView) },
    description: 'Figures by their name in a summary',
    example: { total_cost: { a: 0.0063, b: 0.0084, change: 0.0021, change_percent: 33.3 } },
  })
  readonly differences!: Record<string, DifferenceView>;
}

export class BucketView extends FiguresView {
  @Example(us, 'Start of the bucket, microseconds') readonly bucket!: number;
}

export class TimeseriesView {
  @Example(3_600, 'Seconds') readonly bucket_size!: number;
  @Many(BucketView, 'Buckets without spans are left out') readonly data!: BucketView[];
}

export class BottleneckView {
  @Example('00f067aa0ba902b7') readonly span_id!: string;
  @Example('4bf92f3577b34da6a3ce929d0e0e4736') readonly trace_id!: string;
  @Example('api_invoke') readonly operation!: string;
  @Example(1_500, 'Milliseconds for which the run waited for the span itself, not for its children')
  readonly self_ms!: number;
  @Example(16.7, 'Percentage of the wall time') readonly percent_of_total!: number;
}

export class BottlenecksView {
  @Example('run-42') readonly run_id!: string;
  @Example(9_000, 'Wall time, milliseconds') readonly total_ms!: number;
  @Many(BottleneckView, 'At most 20, the longest first') readonly data!: BottleneckView[];
}

export class FoundIdView {
  @ApiProperty({ enum: ['trace', 'run', 'thread', 'span', 'execution'], example: 'run' }) readonly kind!:
    'trace' | 'run' | 'thread' | 'span' | 'execution';
  @Example('4bf92f3577b34da6a3ce929d0e0e4736', 'Trace of the first span with the id')
  readonly trace_id!: string;
  @Example('run-42') readonly run_id!: string;
  @NullableText('thread-7') readonly thread_id!: string | null;
  @Example('00f067aa0ba902b7') readonly span_id!: string;
  @Example('api_invoke') readonly operation_name!: string;
  @Example(us) readonly start_time_us!: number;
}

export class FoundIdsView {
  @Many(FoundIdView, 'Empty if nothing has the id') readonly data!: FoundIdView[];
}

export class DeletedSpansView {
  @Example(14, 'Spans that were deleted') readonly deleted!: number;
}

export class SpanTypeView {
  @Example('api_invoke') readonly operation!: string;
  @ApiProperty({ enum: spanKinds, example: 'llm' }) readonly kind!: string;
  @ApiProperty({ enum: ['success', 'error'], example: 'success' }) readonly status!: string;
}

/** The spans of a trace in columns: the first entry of each column is that of the first span by start, and so on. */
export class SkeletonView {
  @Example(2, 'Spans in the columns') readonly spans!: number;
  @Example(2, 'Spans of the trace') readonly total_spans!: number;
  @Example(1_769_164_200_000_000, 'Start of the first span') readonly start_time_us!: number;
  @Example(16, 'Characters (code points) of the longest id') readonly id_length!: number;
  @Example('00f067aa0ba902b7a3ce929d0e0e4736', 'All ids in one text, each padded with spaces to `id_length`')
  readonly span_ids!: string;
  @Numbers([-1, 0], 'Positions of the parents, from 0; -1: no parent in the trace')
  readonly parents!: number[];
  @Numbers([0, 12], 'Milliseconds since the start of the previous span') readonly starts_after_ms!: number[];
  @Numbers([1_500, 240]) readonly durations_ms!: number[];
  @Many(SpanTypeView, 'Distinct types, by name') readonly types!: SpanTypeView[];
  @Numbers([0, 0], 'Positions in `types`, from 0') readonly type!: number[];
  @Texts(['gpt-4.1', 'search'], 'Tools of tool calls, models of model calls, operations of other spans')
  readonly names!: string[];
  @Numbers([0, 1], 'Positions in `names`, from 0') readonly name!: number[];
  @Texts(['support']) readonly labels!: string[];
  @Numbers([0, -1], 'Positions in `labels`, from 0; -1: no label') readonly label!: number[];
  @Numbers([0.0021, 0], 'US dollars, as each span reports it') readonly costs!: number[];
  @Numbers([876, 0], 'Input and output tokens, as each span reports them') readonly tokens!: number[];
  @Numbers(
    [0, 6],
    'Sums of 1: failed; 2: its text reports an error (only at the first span with the error), or its execution is marked as semantic failure; 4: has an execution',
  )
  readonly flags!: number[];
  @Texts(['failed to'], 'For each span with the flag 2, the pattern of the error or the reason of the mark')
  readonly patterns!: string[];
  @Example(
    '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f',
    'Ids of the executions of spans with the flag 4, 36 characters each',
  )
  readonly execution_ids!: string;
}
