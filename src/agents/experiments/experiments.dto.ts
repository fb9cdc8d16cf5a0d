import {
  uuid,
  OptionalObject,
  Example,
  OneOfThese,
  AnyObject,
  Limit,
  Moment,
  NullableNumber,
  NullableText,
  OptionalInt,
  OptionalMap,
  OptionalText,
  OrNull,
  SentBackBy,
  ProjectQuery,
  Text,
  TextMap,
} from '../../web/rest/dto.js';
import { ApiProperty, PartialType } from '@nestjs/swagger';
import { ListOf } from '../../records/spans/reads/trace-views.dto.js';

export type Json = Readonly<Record<string, unknown>>;

const statuses = ['draft', 'running', 'completed', 'failed'] as const;

const id = '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f';
const request = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'Which {{thing}} is cheapest?' }] };

export class ExperimentParams {
  @Text(36, { pattern: uuid, example: id }) readonly id!: string;
}

/** `id`: of the span from which experiments were made. */
export class ExperimentSpanParams {
  @Text(512, { example: '00f067aa0ba902b7' }) readonly id!: string;
}

/** Options of a read of the model call from which experiments of a span start. */
export class OriginalQuery extends ProjectQuery {
  @OptionalText(512, { description: 'Required if the span occurs in several traces' })
  readonly trace_id?: string;
}

export class ListExperimentsQuery extends ProjectQuery {
  @Limit(100) readonly limit!: number;
  @OptionalInt(0, 10_000_000, { default: 0, example: 0 }) readonly offset!: number;
}

/** The editable part of an experiment. */
class SettingsBody {
  @Text(256, { example: 'A cheaper model' }) readonly name!: string;
  @OptionalText(4_096, { example: 'Does the small one find it, too?' }) readonly description?: string;
  @OptionalObject(
    { ...request, model: 'gpt-4.1-mini' },
    "A chat request in OpenAI's form; absent: the original one",
  )
  readonly modified_request?: Json;
  @OptionalMap({
    additionalProperties: { type: 'string' },
    example: { 'x-team': 'search' },
    description: 'Headers of the request to the model, except credentials and transport headers',
  })
  readonly headers?: Record<string, string>;
  @OptionalObject({ thing: 'flight' }, 'Values of `{{thing}}` in messages, tools and headers')
  readonly prompt_variables?: Json;
  @OptionalObject({ temperature: 0.2 }, 'Replace members of the request')
  readonly model_parameters?: Json;
}

/** A new experiment: its settings, and the call or the request with which it begins. */
export class CreateExperimentBody extends SettingsBody {
  @OptionalText(512, {
    description: 'The model call whose request is repeated; absent: `original_request` is used',
  })
  readonly original_span_id?: string;
  @OptionalText(512, { description: 'Required if the span occurs in several traces' })
  readonly original_trace_id?: string;
  @OptionalObject(request, 'Absent: that of the span') readonly original_request?: Json;
}

/** Changes of an experiment. Omitted members keep their values. */
export class UpdateExperimentBody extends PartialType(SettingsBody, { skipNullProperties: false }) {}

/** An experiment without its requests and answers. */
export class ListedExperimentView {
  @Example(id) readonly id!: string;
  @Example('A cheaper model') readonly name!: string;
  @NullableText('Does the small one find it, too?') readonly description!: string | null;
  @NullableText('00f067aa0ba902b7', 'null: made from a request without a span') readonly original_span_id!:
    string | null;
  @NullableText('4bf92f3577b34da6a3ce929d0e0e4736') readonly original_trace_id!: string | null;
  @OneOfThese(statuses, 'completed', '`draft`: not run since its last change')
  readonly status!: (typeof statuses)[number];
  @NullableText(null, 'Why the last run failed') readonly error!: string | null;
  @Moment('2026-01-15T09:30:00.000Z') readonly created_at!: Date;
  @Moment('2026-01-15T09:30:00.000Z') readonly updated_at!: Date;
}

export class ExperimentListView extends ListOf(ListedExperimentView) {
  @Example(true, 'Whether the server has a language model (`LLM_BASE_URL` and `LLM_MODEL`)')
  readonly can_run!: boolean;
}

/** The model's answer in the last run. */
export class RunResultView {
  @NullableText('The one at 9:40.', 'The text, or the requested tool calls as JSON')
  readonly output!: string | null;
  @AnyObject({
    example: { role: 'assistant', content: 'The one at 9:40.' },
    description: "The model's message, unchanged",
  })
  readonly message!: Json;
  @NullableText('gpt-4.1-mini-2025-04-14') readonly model!: string | null;
  @ApiProperty({
    anyOf: [{ type: 'number', nullable: true }, { type: 'string' }],
    example: 0.0004,
    description: 'US dollars: as the endpoint reported it, else computed from the tokens',
  })
  readonly cost!: number | string | null;
  @AnyObject({ nullable: true, example: { prompt_tokens: 100, completion_tokens: 20 } })
  readonly usage!: Json | null;
  @NullableNumber(1_500) readonly duration_ms!: number | null;
  @NullableText('4bf92f3577b34da6a3ce929d0e0e4736', 'If the endpoint names one (`x-trace-id`)')
  readonly trace_id!: string | null;
}

@SentBackBy(UpdateExperimentBody)
export class ExperimentView extends ListedExperimentView {
  @Example('default') readonly project_id!: string;
  @AnyObject({ example: request }) readonly original_request!: Json;
  @AnyObject({ example: { ...request, model: 'gpt-4.1-mini' } }) readonly modified_request!: Json;
  @TextMap({}) readonly headers!: Readonly<Record<string, string>>;
  @AnyObject({ example: { thing: 'flight' } }) readonly prompt_variables!: Json;
  @AnyObject({ example: { temperature: 0.2 } }) readonly model_parameters!: Json;
  @OrNull(RunResultView) readonly result!: RunResultView | null;
}

/** The output and figures of a model call. Null: unknown. */
export class CallFiguresView {
  @NullableText('The one at 9:40.') readonly output!: string | null;
  @NullableText('gpt-4.1-mini-2025-04-14') readonly model!: string | null;
  @NullableNumber(0.0004) readonly cost!: number | null;
  @NullableNumber(120) readonly total_tokens!: number | null;
  @NullableNumber(100) readonly input_tokens!: number | null;
  @NullableNumber(20) readonly output_tokens!: number | null;
  @NullableNumber(1.5) readonly duration_seconds!: number | null;
}

/** A model call as an experiment starts from it. */
export class OriginalView {
  @Example('00f067aa0ba902b7') readonly original_span_id!: string;
  @Example('4bf92f3577b34da6a3ce929d0e0e4736') readonly original_trace_id!: string;
  @AnyObject({ example: request, description: "The span's request in OpenAI's form" })
  readonly original_request!: Json;
  @ApiProperty() readonly original!: CallFiguresView;
}

/** Changes in percent of the original, not rounded; null if either value is unknown or the original is 0. */
export class ComparisonView {
  @NullableNumber(-80) readonly cost_change_percent!: number | null;
  @NullableNumber(0) readonly total_tokens_change_percent!: number | null;
  @NullableNumber(0) readonly input_tokens_change_percent!: number | null;
  @NullableNumber(0) readonly output_tokens_change_percent!: number | null;
  @NullableNumber(-25.5) readonly duration_change_percent!: number | null;
}

/** The original call, that of the last run, and the changes. */
export class EvaluationView {
  @Example(true, 'Whether there are two calls to compare') readonly hasResults!: boolean;
  @OrNull(CallFiguresView) readonly original!: CallFiguresView | null;
  @OrNull(CallFiguresView) readonly new!: CallFiguresView | null;
  @OrNull(ComparisonView) readonly comparison!: ComparisonView | null;
}

export type ExperimentSettings = Pick<
  ExperimentView,
  'name' | 'description' | 'modified_request' | 'headers' | 'prompt_variables' | 'model_parameters'
>;

/** The outcome of a model call, as reported by its endpoint or its sender. Null: unknown. */
export type CallResult = Omit<RunResultView, 'message' | 'trace_id'>;

/** The call with which an experiment is compared. A request written by the author has no result and no thread. */
export interface Original extends Pick<
  ExperimentView,
  'original_span_id' | 'original_trace_id' | 'original_request'
> {
  readonly original_result: CallResult | null;
  readonly thread_id: string | null;
}

export type RunEnd =
  | { readonly status: 'completed'; readonly result: RunResultView }
  | { readonly status: 'failed'; readonly error: string };
