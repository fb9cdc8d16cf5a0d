import { Injectable } from '@nestjs/common';
import { CallRates, holderOf } from '../../web/auth/call-rates.js';
import { Problem } from '../../base/common/errors.js';
import { newId } from '../../base/common/ids.js';
import { Llm, noLlm } from '../llm/llm.module.js';
import { isOptimizable } from '../../records/spans/span-row.js';
import { TraceReads } from '../../records/spans/reads/trace-reads.js';
import type { SpanView } from '../../records/spans/reads/trace-views.dto.js';
import { wrong } from '../../web/rest/wrong-field.js';
import type { Principal } from '../../web/contract/principal.js';
import { checkSettings, requestProblem } from './experiment-checks.js';
import { ExperimentRuns } from './experiment-runs.js';
import type * as dto from './experiments.dto.js';
import { type Experiment, ExperimentsRepository } from './experiments.repository.js';
import { requestOf, resultOf } from './span-call.js';

const maxExperiments = 1_000;
/** The error of a change or a run while the experiment runs. */
const runsAlready = 'The experiment runs: wait for its end, or cancel it';

/** JSON pointers to the fields of a request that name a span and its trace, for errors. */
type SpanFields = Readonly<Record<'span' | 'trace', string>>;
const bodyFields: SpanFields = { span: '/original_span_id', trace: '/original_trace_id' };
const pathFields: SpanFields = { span: '/id', trace: '/trace_id' };

/** Experiments: a model call's request, run again with changes and compared. */
@Injectable()
export class ExperimentsService {
  constructor(
    private readonly repository: ExperimentsRepository,
    private readonly runs: ExperimentRuns,
    private readonly spans: TraceReads,
    private readonly llm: Llm,
    private readonly rates: CallRates,
  ) {}

  /** Creates an experiment. @throws Problem `invalid_request` without a request, `conflict` if there are too many */
  async create(project: string, body: dto.CreateExperimentBody): Promise<dto.ExperimentView> {
    checkSettings(body);
    const original = await this.originalOf(project, body);
    if ((await this.repository.count(project, null)) >= maxExperiments)
      throw new Problem(
        'conflict',
        `The project ${project} has ${maxExperiments} experiments, the most that it may have: delete some`,
      );
    const id = newId();
    await this.repository.create(id, project, {
      ...original,
      name: body.name,
      description: body.description ?? null,
      modified_request: body.modified_request ?? original.original_request,
      headers: body.headers ?? {},
      prompt_variables: body.prompt_variables ?? {},
      model_parameters: body.model_parameters ?? {},
    });
    return this.get(project, id);
  }

  /** Lists experiments. @param spanId the original span; null: any */
  async list(
    project: string,
    spanId: string | null,
    query: dto.ListExperimentsQuery,
  ): Promise<dto.ExperimentListView> {
    const listed = await this.repository.list(project, spanId, query);
    return { ...listed, can_run: this.llm.endpoint !== undefined };
  }

  /** The model call from which experiments of a span start. @throws Problem `not_found`, `invalid_request` if it has none */
  async original(project: string, spanId: string, traceId: string | undefined): Promise<dto.OriginalView> {
    const span = await this.spanOf(project, spanId, traceId, pathFields);
    if (!span) throw new Problem('not_found', `There is no span ${spanId} in this project`);
    return {
      original_span_id: span.span_id,
      original_trace_id: span.trace_id,
      original_request: requestIn(span, pathFields),
      original: figuresOf(resultOf(span)),
    };
  }

  /** Shows an experiment. @throws Problem `not_found` */
  async get(project: string, id: string): Promise<dto.ExperimentView> {
    const { thread_id: _thread, original_result: _result, ...experiment } = await this.load(project, id);
    return experiment;
  }

  /** Changes settings; merges `modified_request`. @throws Problem `not_found`, `conflict` while it runs */
  async update(project: string, id: string, changes: dto.UpdateExperimentBody): Promise<dto.ExperimentView> {
    const isChanged = await this.repository.change(project, id, ({ modified_request: request }) => {
      const { modified_request: members } = changes;
      const settings = { ...changes, ...(members && { modified_request: { ...request, ...members } }) };
      checkSettings(settings);
      return settings;
    });
    if (!isChanged) throw await this.conflictOf(project, id, runsAlready);
    return this.get(project, id);
  }

  /** Deletes an experiment and stops its run. @throws Problem `not_found` */
  async delete(project: string, id: string): Promise<void> {
    const deleted = await this.repository.delete(project, id);
    if (!deleted) throw experimentNotFound(id);
    if (deleted.run_id !== null) this.runs.stop(deleted.run_id);
  }

  /**
   * Runs an experiment to its end; counts as a call of the caller.
   * @throws Problem `not_found`, `conflict`; Refusal `rate_limited`
   */
  async run(
    project: string,
    id: string,
    caller: { readonly principal: Principal; readonly address: string },
  ): Promise<dto.ExperimentView> {
    await this.rates.count(caller);
    const { endpoint } = this.llm;
    if (!endpoint) throw await this.conflictOf(project, id, noLlm);
    if (!(await this.runs.run(project, id, endpoint, holderOf(caller))))
      throw await this.conflictOf(project, id, runsAlready);
    return this.get(project, id);
  }

  /** Cancels the run. @throws Problem `not_found`, `conflict` if none runs */
  async cancel(project: string, id: string): Promise<dto.ExperimentView> {
    const cancelled = await this.repository.cancel(project, id);
    if (!cancelled) throw await this.conflictOf(project, id, 'The experiment does not run');
    if (cancelled.run_id !== null) this.runs.stop(cancelled.run_id);
    return this.get(project, id);
  }

  /** Compares the last result with the original. @throws Problem `not_found` */
  async evaluation(project: string, id: string): Promise<dto.EvaluationView> {
    const { original_result: original, result } = await this.load(project, id);
    return evaluate(original, result);
  }

  /** The call from which a new experiment starts: that of a span, or only a request. @throws Problem `invalid_request` */
  private async originalOf(project: string, body: dto.CreateExperimentBody): Promise<dto.Original> {
    const { original_request: request } = body;
    if (body.original_span_id === undefined) {
      if (!request) throw wrong('/original_request', 'is required without original_span_id');
      const noSpan = { original_span_id: null, original_trace_id: null, thread_id: null };
      return { ...noSpan, original_request: request, original_result: null };
    }
    const span = await this.spanOf(project, body.original_span_id, body.original_trace_id, bodyFields);
    if (!span) throw wrong(bodyFields.span, 'must be a span of this project');
    return {
      original_span_id: span.span_id,
      original_trace_id: span.trace_id,
      original_request: request ?? requestIn(span, bodyFields),
      original_result: resultOf(span),
      thread_id: span.thread_id,
    };
  }

  /** The model call with this span id; `traceId` is needed if several traces have it. */
  private async spanOf(
    project: string,
    id: string,
    traceId: string | undefined,
    fields: SpanFields,
  ): Promise<SpanView | undefined> {
    const filter = { project, spanIds: [id], ...(traceId !== undefined && { traceIds: [traceId] }) };
    const { data } = await this.spans.spans(filter, { limit: 2, offset: 0 });
    const [span, another] = data.filter(({ span_id }) => span_id === id);
    if (another) throw wrong(fields.trace, 'is required: the span occurs in several traces');
    if (span && !isOptimizable(span)) throw wrong(fields.span, 'must be the call of a model');
    return span;
  }

  /** Finds an experiment. @throws Problem `not_found` */
  private async load(project: string, id: string): Promise<Experiment> {
    const experiment = await this.repository.find(project, id);
    if (!experiment) throw experimentNotFound(id);
    return experiment;
  }

  /** A problem to throw: `conflict` with this text. @throws Problem `not_found` if there is no such experiment */
  private async conflictOf(project: string, id: string, detail: string): Promise<Problem> {
    await this.load(project, id);
    return new Problem('conflict', detail);
  }
}

/** The request of a span. @throws Problem `invalid_request` if no model can be asked with it */
function requestIn(span: SpanView, fields: SpanFields): dto.Json {
  const request = requestOf(span);
  if (!request)
    throw wrong(fields.span, 'names a span without its whole request: give that as original_request');
  const problem = requestProblem(request);
  if (problem) throw wrong(fields.span, `names a span whose request ${problem}`);
  return request;
}

const experimentNotFound = (id: string): Problem => new Problem('not_found', `There is no experiment ${id}`);

/** Compares two calls. @param original null without a span @param result null before the first answer */
export function evaluate(original: dto.CallResult | null, result: dto.CallResult | null): dto.EvaluationView {
  const before = original && figuresOf(original);
  const after = result && figuresOf(result);
  if (!before || !after) return { hasResults: false, original: before, new: after, comparison: null };
  return {
    hasResults: true,
    original: before,
    new: after,
    comparison: {
      cost_change_percent: changePercent(before.cost, after.cost),
      total_tokens_change_percent: changePercent(before.total_tokens, after.total_tokens),
      input_tokens_change_percent: changePercent(before.input_tokens, after.input_tokens),
      output_tokens_change_percent: changePercent(before.output_tokens, after.output_tokens),
      duration_change_percent: changePercent(before.duration_seconds, after.duration_seconds),
    },
  };
}

/** Figures of a call, whose usage has the member names of OpenAI or of OpenTelemetry; null if unknown. */
export function figuresOf(call: dto.CallResult): dto.CallFiguresView {
  const { output, model, cost, usage, duration_ms: ms } = call;
  const tokens = (...names: readonly string[]): number | null =>
    names.map((name) => numberIn(usage?.[name])).find((count) => count !== null) ?? null;
  const inputTokens = tokens('prompt_tokens', 'input_tokens');
  const outputTokens = tokens('completion_tokens', 'output_tokens');
  const isUnknown = inputTokens === null && outputTokens === null;
  const sum = isUnknown ? null : (inputTokens ?? 0) + (outputTokens ?? 0);
  return {
    output,
    model,
    cost: numberIn(cost),
    total_tokens: tokens('total_tokens') ?? sum,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    duration_seconds: ms === null ? null : Math.round(ms) / 1_000,
  };
}

/** A number, or the one in a text such as "$0.001". */
function numberIn(value: unknown): number | null {
  const number = typeof value === 'string' ? Number(value.replace('$', '').trim() || NaN) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

function changePercent(before: number | null, after: number | null): number | null {
  return before === null || after === null || before === 0 ? null : ((after - before) / before) * 100;
}
