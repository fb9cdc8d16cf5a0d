/**
 * What a summary, a run and a group must say, worked out from spans as they are sent, one rule after the other and without
 * any of the program's own code.
 */

export interface RawSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id?: string | null;
  readonly thread_id?: string | null;
  readonly run_id?: string | null;
  readonly operation_name: string;
  readonly start_time_us: number;
  readonly finish_time_us: number;
  readonly attribute: Readonly<Record<string, unknown>>;
}

/** A text of which the test knows what it tells. */
export interface KnownText {
  readonly text: string;
  readonly pattern?: string;
  readonly severity?: 'high' | 'medium' | 'low';
}

interface Told {
  readonly raw: RawSpan;
  readonly run: string;
  readonly part: 'outer' | 'inner' | 'whole' | undefined;
  readonly failed: boolean;
  readonly message: string | undefined;
  /** Millionths of a dollar. */
  readonly cost: number | undefined;
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly cached: number | undefined;
  readonly model: string | undefined;
  readonly requested: string | undefined;
  readonly ttftUs: number | undefined;
  readonly label: string | undefined;
  readonly ms: number;
  /** Set by `count`. */
  isCall: boolean;
  isText: boolean;
  callModel: string | undefined;
  callCost: number;
  countsTokens: boolean;
  callInput: number;
  callOutput: number;
  callCached: number;
}

type Any = Record<string, never>;

const known = new Set(['run', 'agent', 'tools', 'tool_call', 'openai']);
const present = <T>(value: T | null | undefined | ''): value is T =>
  value !== undefined && value !== null && value !== '';

function told(raw: RawSpan): Told {
  const attribute = raw.attribute as Any;
  const usage = (attribute['usage'] ?? {}) as Any;
  const number = (...names: string[]): number | undefined => {
    const found = names.map((name) => usage[name] as unknown).find(present);
    return found === undefined ? undefined : Math.round(Number(found));
  };
  const output = number('output_tokens', 'completion_tokens');
  const model = [attribute['model_name'], attribute['model']].find(present) as string | undefined;
  const requested = (attribute['request'] as Any | undefined)?.['model'] as string | undefined;
  const name = raw.operation_name;
  const isWhole = !known.has(name) && output !== undefined && model !== undefined;
  const part =
    name === 'api_invoke' ? 'outer' : name === 'model_call' ? 'inner' : isWhole ? 'whole' : undefined;
  const error = attribute['error'] as unknown;
  const failed =
    (present(error) && error !== false) ||
    Number(attribute['status_code']) >= 400 ||
    attribute['status'] === 'error';
  const said = typeof error === 'object' && error !== null ? (error as { message: string }).message : error;
  const carried = attribute['cost'] as unknown;
  const given = typeof carried === 'string' ? (JSON.parse(carried) as unknown) : carried;
  const amount = typeof given === 'object' && given !== null ? (given as { cost: number }).cost : given;
  const ttft = attribute['ttft'] as number | undefined;
  return {
    raw,
    run: raw.run_id ?? raw.trace_id,
    part,
    failed,
    message: failed && typeof said === 'string' && said !== '' ? said : undefined,
    cost: present(amount) && part !== 'inner' ? Math.round(Number(amount) * 1e6) : undefined,
    input: wholeInput(number('input_tokens', 'prompt_tokens'), number('cached_tokens')),
    output,
    cached: number('cached_tokens'),
    model,
    requested: requested ?? model,
    ttftUs: ttft === undefined ? undefined : ttft > 1e6 ? ttft : ttft * 1000,
    label: attribute['label'] || undefined,
    ms: halfUp((raw.finish_time_us - raw.start_time_us) / 1000),
    isCall: part !== undefined,
    isText: true,
    callModel: model ?? requested,
    callCost: 0,
    countsTokens: true,
    callInput: 0,
    callOutput: 0,
    callCached: 0,
  };
}

/** An input that is less than what came from the cache does not include it. */
const wholeInput = (input: number | undefined, cached = 0): number | undefined =>
  input !== undefined && cached > input ? input + cached : input;

const halfUp = (value: number): number => Math.floor(value + 0.5);
const idOf = (trace: string, span: string | null | undefined): string => `${trace}/${span ?? ''}`;
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const bySpan = (a: Told, b: Told): number =>
  a.raw.start_time_us - b.raw.start_time_us ||
  byText(a.raw.span_id, b.raw.span_id) ||
  byText(a.raw.trace_id, b.raw.trace_id);

/** Each model call counts once. */
export function count(raws: readonly RawSpan[]): Told[] {
  const spans = raws.map(told);
  const byId = new Map(spans.map((span) => [idOf(span.raw.trace_id, span.raw.span_id), span]));
  const hasTokens = (span: Told): boolean => span.input !== undefined || span.output !== undefined;
  const lost = new Map<Told, Set<'call' | 'cost' | 'tokens'>>(spans.map((span) => [span, new Set()]));
  const lose = (span: Told, what: 'call' | 'cost' | 'tokens'): void => void lost.get(span)?.add(what);
  const answered = new Map<Told, string[]>();
  const asked = new Map<Told, string[]>();
  for (const low of spans) {
    if (!low.part && low.cost === undefined && !hasTokens(low)) continue;
    let above = byId.get(idOf(low.raw.trace_id, low.raw.parent_span_id));
    for (let level = 0; above && above !== low && level < 64; level += 1) {
      const isPair = above.part === 'outer' && low.part !== 'outer';
      const loser = isPair ? low : above;
      if (above.part && low.part) lose(loser, 'call');
      if (above.cost !== undefined && low.cost !== undefined) lose(loser, 'cost');
      if (hasTokens(above) && hasTokens(low)) lose(above, 'tokens');
      if (isPair) {
        if (low.model) answered.set(above, [...(answered.get(above) ?? []), low.model]);
        const outer = low.model ?? above.model ?? above.requested;
        if (outer) asked.set(low, [...(asked.get(low) ?? []), outer]);
      }
      above = byId.get(idOf(above.raw.trace_id, above.raw.parent_span_id));
    }
  }
  for (const span of spans) {
    const gone = lost.get(span) ?? new Set();
    span.isCall = span.part !== undefined && !gone.has('call');
    span.isText = span.part === undefined || !gone.has('call');
    const pair = [...(answered.get(span) ?? []), ...(asked.get(span) ?? [])].sort(byText)[0];
    span.callModel = pair ?? span.model ?? span.requested;
    span.callCost = gone.has('cost') ? 0 : (span.cost ?? 0);
    span.countsTokens = !gone.has('tokens');
    if (!span.countsTokens) continue;
    span.callInput = span.input ?? 0;
    span.callOutput = span.output ?? 0;
    span.callCached = span.cached ?? 0;
  }
  return spans;
}

const sum = <T>(list: readonly T[], of: (item: T) => number): number =>
  list.reduce((total, item) => total + of(item), 0);

/** The nearest rank: of n sorted values the one at the place ceil(n × share). */
function rank(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

const grouped = <T>(list: readonly T[], keyOf: (item: T) => string | undefined): [string, T[]][] => {
  const groups = new Map<string, T[]>();
  for (const item of list) {
    const key = keyOf(item);
    if (key !== undefined) groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return [...groups];
};

const firstStart = (spans: readonly Told[]): number => Math.min(...spans.map(({ raw }) => raw.start_time_us));
/** Dollars out of millionths, so rounded. */
const dollars = (millionths: number, digits = 6): number =>
  halfUp(millionths / 10 ** (6 - digits)) / 10 ** digits;

function listed<T>(name: string, all: readonly T[], optional = false): object {
  if (optional && all.length === 0) return {};
  return { [name]: all.slice(0, 20), [`${name}_total`]: all.length };
}

export function expectedSummary(
  raws: readonly RawSpan[],
  texts: readonly KnownText[],
): Record<string, unknown> {
  const spans = count(raws);
  const calls = spans.filter(({ isCall }) => isCall);
  const timed = calls.map(({ ms }) => ms).filter((ms) => ms > 0);
  const ttfts = calls.flatMap(({ ttftUs }) => (ttftUs === undefined ? [] : [ttftUs]));
  const [input, cached] = [sum(spans, (span) => span.callInput), sum(spans, (span) => span.callCached)];
  const failures = spans.filter(({ failed }) => failed).sort(bySpan);
  const operations = grouped(spans, ({ raw }) => raw.operation_name)
    .map(([name, { length }]): [string, number] => [name, length])
    .sort(([a, n], [b, m]) => m - n || byText(a, b));
  const others = sum(operations.slice(50), ([, n]) => n);
  const models = grouped(spans, ({ callModel }) => callModel).filter(([, list]) =>
    list.some(({ isCall }) => isCall),
  );
  const modelNames = models.map(([name]) => name).sort(byText);
  const labels = [...new Set(spans.flatMap(({ label }) => label ?? []))].sort(byText);
  const latency = { p50: rank(timed, 0.5), p95: rank(timed, 0.95), p99: rank(timed, 0.99) };
  return {
    summary: {
      total_spans: spans.length,
      by_operation: Object.fromEntries([
        ...operations.slice(0, 50),
        ...(others > 0 ? [['_other', others]] : []),
      ]),
      by_status: { success: spans.length - failures.length, error: failures.length },
      total_duration_ms: sum(spans, ({ ms }) => ms),
      total_cost: dollars(
        sum(spans, ({ callCost }) => callCost),
        4,
      ),
      total_input_tokens: input,
      total_output_tokens: sum(spans, (span) => span.callOutput),
      total_cached_tokens: cached,
      cache_hit_rate: input > 0 ? halfUp((cached / input) * 100) : 0,
      ...listed('models_used', modelNames),
      ...listed('labels_found', labels),
      latency_percentiles: latency,
    },
    latency: { p50_ms: latency.p50, p95_ms: latency.p95, p99_ms: latency.p99, max_ms: Math.max(0, ...timed) },
    ...(ttfts.length > 0 && {
      ttft: {
        p50_ms: rank(
          ttfts.map((us) => halfUp(us / 1000)),
          0.5,
        ),
        p95_ms: rank(
          ttfts.map((us) => halfUp(us / 1000)),
          0.95,
        ),
        avg_ms: halfUp(sum(ttfts, (us) => us) / ttfts.length / 1000),
      },
    }),
    ...listed(
      'model_breakdown',
      models
        .map(([model, list]) => ({
          model,
          list,
          cost: sum(list, ({ callCost }) => callCost),
          calls: list.filter(({ isCall }) => isCall).length,
        }))
        .sort((a, b) => b.cost - a.cost || b.calls - a.calls || byText(a.model, b.model))
        .map(({ model, list, cost, calls: n }) => ({
          model,
          count: n,
          cost: dollars(cost),
          input_tokens: sum(list, (span) => span.callInput),
          output_tokens: sum(list, (span) => span.callOutput),
        })),
      true,
    ),
    ...toolSections(spans, texts),
    ...listed(
      'error_spans',
      failures.map(({ raw, message }) => ({
        span_id: raw.span_id,
        trace_id: raw.trace_id,
        operation: raw.operation_name,
        ...(message !== undefined && { error_message: message.slice(0, 300) }),
      })),
    ),
    ...listed('error_groups', errorGroups(failures)),
    ...rankings(spans),
  };
}

function errorGroups(failures: readonly Told[]): object[] {
  const normal = (message: string): string =>
    message
      .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/gi, '<id>')
      .replaceAll(/[A-Za-z0-9_]+/g, (word) =>
        /^[\da-f]{8,}$/i.test(word) && /\d/.test(word) ? '<id>' : word,
      )
      .replaceAll(/\d+/g, '<n>')
      .slice(0, 200);
  return grouped(failures, ({ message }) => (message === undefined ? undefined : normal(message)))
    .sort(
      ([a, list], [b, other]) =>
        other.length - list.length || firstStart(list) - firstStart(other) || byText(a, b),
    )
    .map(([message, list]) => ({
      message,
      count: list.length,
      first_span: list.toSorted(bySpan)[0]?.raw.span_id,
    }));
}

interface ToolCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}
interface ToolMessage {
  readonly tool_call_id: string;
  readonly content: string;
}

function toolSections(spans: readonly Told[], texts: readonly KnownText[]): Record<string, unknown> {
  const tells = (text: string): KnownText | undefined =>
    texts.find((each) => each.text === text && each.pattern);
  const order = ['high', 'medium', 'low'];
  const asked: { span: Told; call: ToolCall }[] = [];
  const errors: { span: Told; place: number; id: string; tool?: string; message: string }[] = [];
  const findings: { span: Told; source: 'output' | 'input'; found: KnownText; call?: string }[] = [];
  for (const span of spans.toSorted(bySpan)) {
    if (span.part === 'inner') continue;
    const attribute = span.raw.attribute as Any;
    const output = attribute['output'] as string | undefined;
    const isTool = span.raw.operation_name === 'tool_call';
    const found: { source: 'output' | 'input'; found: KnownText; call?: string }[] = [];
    const ownCall = isTool ? (attribute['tool_call_id'] as string | undefined) : undefined;
    const hit = output !== undefined && (span.part || isTool) ? tells(output) : undefined;
    if (hit) found.push({ source: 'output', found: hit, ...(ownCall && { call: ownCall }) });
    if (span.part) {
      const names = new Map<string, string>();
      const messages = ((attribute['request'] as Any | undefined)?.['messages'] ?? []) as Any[];
      for (const message of messages)
        for (const call of (message['tool_calls'] ?? []) as ToolCall[])
          names.set(call.id, call.function.name);
      let place = 0;
      for (const message of messages.filter(({ role }) => role === 'tool') as unknown as ToolMessage[]) {
        const told = tells(message.content);
        if (!told) continue;
        found.push({ source: 'input', found: told, call: message.tool_call_id });
        if (told.severity !== 'high') continue;
        const unknown = /unknown tool:? (\w+)/i.exec(message.content)?.[1];
        const tool = names.get(message.tool_call_id) ?? unknown;
        if (span.isText)
          errors.push({
            span,
            place: (place += 1),
            id: message.tool_call_id,
            ...(tool && { tool }),
            message: message.content,
          });
      }
      if (span.isText)
        for (const call of (attribute['tool_calls'] ?? []) as ToolCall[]) asked.push({ span, call });
    }
    const worst = found.toSorted(
      (a, b) => order.indexOf(a.found.severity ?? '') - order.indexOf(b.found.severity ?? ''),
    )[0];
    if (worst && span.isText) findings.push({ span, ...worst });
  }
  const once = <T>(list: readonly T[], keyOf: (item: T) => string): T[] =>
    grouped(list, keyOf).flatMap(([, [first]]) => first ?? []);
  const firstErrors = once(errors, ({ span, id }) => `${span.run} ${id}`);
  const firstFindings = once(findings, ({ span, call }) =>
    call ? `${span.run} ${call}` : idOf(span.raw.trace_id, span.raw.span_id),
  ).sort(
    (a, b) =>
      order.indexOf(a.found.severity ?? '') - order.indexOf(b.found.severity ?? '') || bySpan(a.span, b.span),
  );
  const usage = grouped(asked, ({ call }) => call.function.name)
    .map(([name, { length }]) => ({ name, count: length }))
    .sort((a, b) => b.count - a.count || byText(a.name, b.name));
  const failed = spans.filter((span) => span.failed);
  const unknowns = [
    ...firstErrors.map(({ message, span }) => ({ message, at: span.raw.start_time_us })),
    ...failed.map(({ message, raw }) => ({ message: message ?? '', at: raw.start_time_us })),
  ].flatMap(({ message, at }) => {
    const name = /unknown tool:? (\w+)/i.exec(message)?.[1];
    return name ? [{ name, at }] : [];
  });
  const repeatedFailures = [
    ...grouped(failed, ({ raw }) => raw.operation_name).map(([name, list]) => ({
      name,
      count: list.length,
      type: 'operation',
      at: firstStart(list),
    })),
    ...grouped(unknowns, ({ name }) => name).map(([name, list]) => ({
      name,
      count: list.length,
      type: 'tool',
      at: Math.min(...list.map(({ at }) => at)),
    })),
  ]
    .filter((failure) => failure.count >= 2)
    .sort((a, b) => b.count - a.count || a.at - b.at || byText(a.name, b.name) || byText(a.type, b.type));
  return {
    ...listed('tool_usage', usage, true),
    ...listed(
      'repeated_failures',
      repeatedFailures.map(({ name, count: n, type }) => ({ name, count: n, type })),
      true,
    ),
    ...listed('repeated_calls', repeatedCalls(spans, asked)),
    ...listed(
      'semantic_error_spans',
      firstFindings.map(({ span, source, found }) => ({
        span_id: span.raw.span_id,
        trace_id: span.raw.trace_id,
        operation: span.raw.operation_name,
        detected_pattern: found.pattern,
        severity: found.severity,
        source,
        snippet: found.text,
      })),
    ),
    ...listed(
      'tool_call_errors',
      firstErrors
        .sort((a, b) => bySpan(a.span, b.span) || a.place - b.place)
        .map(({ span, tool, message }) => ({
          span_id: span.raw.span_id,
          trace_id: span.raw.trace_id,
          operation: span.raw.operation_name,
          ...(tool && { tool_name: tool }),
          message,
        })),
      true,
    ),
  };
}

function repeatedCalls(spans: readonly Told[], asked: readonly { span: Told; call: ToolCall }[]): object[] {
  const canonical = (text: string): string => {
    const value = JSON.parse(text) as Record<string, unknown>;
    return JSON.stringify(Object.entries(value).sort(([a], [b]) => byText(a, b)));
  };
  const byModel = asked.map(({ span, call }) => ({
    source: 'model',
    span,
    tool: call.function.name,
    given: canonical(call.function.arguments),
  }));
  const bySpans = spans.flatMap((span) => {
    const { tool_name: tool, arguments: given } = span.raw.attribute as Any;
    return span.raw.operation_name === 'tool_call' && tool && given
      ? [{ source: 'tool', span, tool: String(tool), given: canonical(String(given)) }]
      : [];
  });
  const groups = grouped(
    [...byModel, ...bySpans].filter(({ given }) => given !== '[]'),
    ({ source, span, tool, given }) => JSON.stringify([source, span.run, tool, given]),
  ).filter(([, list]) => list.length >= 3);
  const best = grouped(groups, ([key]) => JSON.stringify((JSON.parse(key) as string[]).slice(1))).map(
    ([, either]) => either.toSorted(([a, list], [b, other]) => other.length - list.length || byText(a, b))[0],
  );
  return best
    .flatMap((found) => (found ? [found] : []))
    .map(([key, list]) => {
      const [source, run, tool] = JSON.parse(key) as string[];
      const at = [...new Set(list.map(({ span }) => span))].sort(bySpan);
      const wasted = source === 'model' ? at.slice(1) : [];
      return {
        start: firstStart(at),
        shown: {
          tool,
          count: list.length,
          run_id: run,
          first_span: at[0]?.raw.span_id,
          wasted_tokens: sum(wasted, (span) => (span.input ?? 0) + (span.output ?? 0)),
          wasted_cost: dollars(sum(wasted, ({ callCost }) => callCost)),
        },
      };
    })
    .sort(
      (a, b) =>
        b.shown.count - a.shown.count || a.start - b.start || byText(a.shown.tool ?? '', b.shown.tool ?? ''),
    )
    .map(({ shown }) => shown);
}

/** A span's time without what its children cover. */
function selfUs(span: Told, children: readonly Told[]): number {
  const { start_time_us: start, finish_time_us: finish } = span.raw;
  let [free, reached] = [finish - start, start];
  for (const child of children.toSorted((a, b) => a.raw.start_time_us - b.raw.start_time_us)) {
    const [from, to] = [
      Math.max(child.raw.start_time_us, reached),
      Math.min(child.raw.finish_time_us, finish),
    ];
    if (to > from) free -= to - from;
    reached = Math.max(reached, to);
  }
  return free;
}

function rankings(spans: readonly Told[]): object {
  const children = new Map(grouped(spans, ({ raw }) => idOf(raw.trace_id, raw.parent_span_id)));
  const self = new Map(
    spans.map((span) => [
      span,
      halfUp(selfUs(span, children.get(idOf(span.raw.trace_id, span.raw.span_id)) ?? []) / 1000),
    ]),
  );
  const selfOf = (span: Told): number => self.get(span) ?? 0;
  const name = ({ raw }: Told): object => ({
    span_id: raw.span_id,
    trace_id: raw.trace_id,
    operation: raw.operation_name,
  });
  return {
    slowest_spans: spans
      .toSorted((a, b) => b.ms - a.ms || selfOf(b) - selfOf(a) || bySpan(a, b))
      .slice(0, 5)
      .map((span) => ({
        ...name(span),
        duration_ms: span.ms,
        self_ms: selfOf(span),
        ...(span.ttftUs !== undefined && { ttft_ms: halfUp(span.ttftUs / 1000) }),
      })),
    expensive_spans: spans
      .filter(({ callCost }) => callCost > 0)
      .sort((a, b) => b.callCost - a.callCost || bySpan(a, b))
      .slice(0, 5)
      .map((span) => ({
        ...name(span),
        cost: dollars(span.callCost),
        ...(span.callModel && { model: span.callModel }),
      })),
  };
}

/** What the spans of a run, a thread or a span of time come to. */
export function expectedFigures(
  raws: readonly RawSpan[],
  texts: readonly KnownText[],
  all: readonly RawSpan[] = raws,
): Record<string, unknown> {
  const ids = new Set(raws.map(({ trace_id, span_id }) => idOf(trace_id, span_id)));
  const everybody = new Set(all.map(({ trace_id, span_id }) => idOf(trace_id, span_id)));
  const spans = count(all).filter(({ raw }) => ids.has(idOf(raw.trace_id, raw.span_id)));
  const roots = spans.filter(
    ({ raw }) => !raw.parent_span_id || !everybody.has(idOf(raw.trace_id, raw.parent_span_id)),
  );
  const distinct = (values: readonly (string | null | undefined)[]): string[] =>
    [...new Set(values.filter(present))].sort(byText);
  const start = firstStart(spans);
  const finish = Math.max(...spans.map(({ raw }) => raw.finish_time_us));
  const tokens = (of: (span: Told) => number, has: (span: Told) => boolean): number | null =>
    spans.some((span) => span.countsTokens && has(span)) ? sum(spans, of) : null;
  return {
    thread_ids: distinct(spans.map(({ raw }) => raw.thread_id)).slice(0, 100),
    trace_ids: distinct(spans.map(({ raw }) => raw.trace_id)).slice(0, 100),
    root_span_ids: roots
      .sort(bySpan)
      .map(({ raw }) => raw.span_id)
      .slice(0, 100),
    root_operation: roots.toSorted(bySpan)[0]?.raw.operation_name ?? null,
    used_models: distinct(spans.map(({ callModel }) => callModel)).slice(0, 100),
    llm_calls: spans.filter(({ isCall }) => isCall).length,
    cost: dollars(sum(spans, ({ callCost }) => callCost)),
    input_tokens: tokens(
      (span) => span.callInput,
      (span) => span.input !== undefined,
    ),
    output_tokens: tokens(
      (span) => span.callOutput,
      (span) => span.output !== undefined,
    ),
    start_time_us: start,
    finish_time_us: finish,
    duration_ms: halfUp((finish - start) / 1000),
    total_spans: spans.length,
    has_errors: spans.some(({ failed }) => failed),
    error_count: spans.filter(({ failed }) => failed).length,
    semantic_error_count: toolSections(spans, texts)['semantic_error_spans_total'] ?? 0,
    status: roots.some(({ failed }) => failed) ? 'error' : 'success',
    errors: distinct(spans.map(({ message }) => message)).slice(0, 100),
  };
}
