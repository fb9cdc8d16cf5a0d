import fc from 'fast-check';
import { DataSource } from 'typeorm';
import type { Grouping } from '../../src/records/spans/reads/groups.sql.js';
import { selectSummary } from '../../src/records/spans/reads/summary.sql.js';
import type { GroupView } from '../../src/records/spans/reads/trace-views.dto.js';
import { TraceReads } from '../../src/records/spans/reads/trace-reads.js';
import type { Attributes } from '../../src/records/spans/ingest/attribute-lookup.js';
import { normaliseSpan } from '../../src/records/spans/ingest/normalise-span.js';
import { insertSpans, makeSpanDays } from '../../src/records/spans/ingest/span-sink.js';
import { startDayOf } from '../../src/records/spans/span-row.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { knownTexts, rawSpans } from '../support/raw-spans.js';
import { writeSpans } from '../support/sent-spans.js';
import { until } from '../support/wait.js';
import { expectedFigures, expectedSummary, type RawSpan } from '../support/trace-oracle.js';

// real: PostgreSQL, the insert of ingest; mock: nothing

let database: TestDatabase;
let reads: TraceReads;
let projects = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  reads = new TraceReads(database.dataSource);
});
afterAll(() => database.release());

/** A project of its own with these spans. */
async function projectWith(spans: readonly RawSpan[]): Promise<string> {
  const project = `p${(projects += 1)}`;
  await writeSpans(database.dataSource, project, spans);
  return project;
}

const all = { limit: 1_000, offset: 0 };

it('a page holds so much of what its spans carried, from its beginning, and says what it leaves out', async () => {
  const now = Date.now() * 1_000;
  const project = await projectWith(
    ['a', 'b', 'c'].map((span_id, at) => ({
      trace_id: 't',
      span_id,
      operation_name: 'task',
      start_time_us: now + at,
      finish_time_us: now + at,
      attribute: { text: 'x'.repeat(1_000) },
    })),
  );
  const carried = async (page: object) =>
    (await reads.spans({ project }, { ...all, ...page })).data.map(
      ({ span_id: id, attribute = {} }) => `${id}: ${Object.keys(attribute).join()}`,
    );
  expect(await carried({})).toEqual(['a: text', 'b: text', 'c: text']);
  const narrow = { maxBytes: 2_500 };
  expect(await carried(narrow)).toEqual(['a: text', 'b: text', 'c: toolkeeper.cut']);
  expect(await carried({ ...narrow, newestFirst: true })).toEqual([
    'c: text',
    'b: text',
    'a: toolkeeper.cut',
  ]);
});

it('questions that take long leave connections to all else', async () => {
  const { url } = database;
  const small = await new DataSource({
    type: 'postgres',
    url,
    poolSize: 4,
    installExtensions: false,
    extra: { connectionTimeoutMillis: 1_000 },
  }).initialize();
  const busy = new TraceReads(small);
  const holder = database.dataSource.createQueryRunner();
  await holder.startTransaction();
  await holder.query('LOCK TABLE spans');
  const asked = Array.from({ length: 8 }, () => busy.countSpans({ project: 'none' }));
  const held = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  try {
    await until(async () => (await database.dataSource.query<unknown[]>(held)).length >= 2, {
      what: 'the lock',
    });
    await expect(small.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
  } finally {
    await holder.rollbackTransaction();
    await holder.release();
    await Promise.allSettled(asked);
    await small.destroy();
  }
  await expect(Promise.all(asked)).resolves.toEqual(Array(8).fill(0));
});

/** Spans below others that name no thread take the one that the roots of their trace name. */
const withThreads = (sent: readonly RawSpan[]): RawSpan[] => {
  const roots = Map.groupBy(
    sent.filter((span) => !span.parent_span_id && span.thread_id),
    ({ trace_id: trace }) => trace,
  );
  return sent.map((span) => {
    const [thread, other] = new Set(roots.get(span.trace_id)?.map(({ thread_id: of }) => of));
    const takes = !span.thread_id && span.parent_span_id && thread && other === undefined;
    return takes ? { ...span, thread_id: thread } : span;
  });
};

describe('against a reference that reads what was sent', () => {
  it('a summary and the figures of runs, threads and spans of time say the same', async () => {
    await fc.assert(
      fc.asyncProperty(rawSpans(150), async (sent) => {
        const project = await projectWith(sent);
        const spans = withThreads(sent);
        expect(await reads.summary({ project })).toEqual(expectedSummary(spans, knownTexts));
        for (const { grouping, keyOf, looked } of groupings) {
          const { data, pagination } = await reads.groups(grouping, { spans: { project } }, all);
          expect(figuresByKey(data)).toEqual(
            expectedByKey(spans, keyOf, looked === 'all' ? spans : undefined),
          );
          expect(pagination.total).toBe(data.length);
          const starts = data.map(({ start_time_us: start }) => start);
          expect(starts).toEqual(starts.toSorted((a, b) => b - a));
          if (grouping.by !== 'run') continue;
          const some = data.map(({ cost }) => cost)[Math.floor(data.length / 2)] ?? 0;
          const dear = await reads.groups(grouping, { spans: { project }, groups: { minCost: some } }, all);
          expect(dear.data.map(keyOfGroup)).toEqual(data.filter(({ cost }) => cost >= some).map(keyOfGroup));
        }
      }),
      { numRuns: 60, endOnFailure: true },
    );
  });
});

it("reports a tool call's result once, at its first span, however often later requests repeat it", async () => {
  const start = Date.now() * 1_000 - 60_000_000;
  const spans = (...all: readonly [name: string, attribute: object][]): RawSpan[] =>
    all.map(([operation_name, attribute], n) => ({
      trace_id: 'trace',
      span_id: `${operation_name}-${n}`,
      operation_name,
      start_time_us: start + n * 1_000,
      finish_time_us: start + n * 1_000 + 500,
      attribute: { ...attribute },
    }));
  const said = (tool_call_id: string) => ({ role: 'tool', tool_call_id, content: 'unauthorized' });
  const project = await projectWith(
    spans(
      ['tool_call', { tool_call_id: 'call-1', output: 'unauthorized' }],
      ['api_invoke', { request: { messages: [said('call-1')] } }],
      ['api_invoke', { request: { messages: [said('call-1')] } }],
      // The same words of another call, which has no span of its own.
      ['api_invoke', { request: { messages: [said('call-2')] } }],
      ['api_invoke', { request: { messages: [said('call-2')] } }],
    ),
  );
  const { semantic_error_spans: found } = await reads.summary({ project });
  expect(found).toMatchObject([
    { span_id: 'tool_call-0', source: 'output' },
    { span_id: 'api_invoke-3', source: 'input' },
  ]);
});

it('a summary reads each day of spans once, and nothing of what they carried', async () => {
  const project = await projectWith(fc.sample(rawSpans(20, 20), 1)[0] ?? []);
  const { text, values } = selectSummary({ project });
  const plan = await database.dataSource.query<{ 'QUERY PLAN': string }[]>(`EXPLAIN ${text}`, [...values]);
  // Whether an execution was told of as well is looked up beside it.
  const read = plan.flatMap((line) => / on (span\w*_\d{8}) (?!told)/.exec(line['QUERY PLAN'])?.[1] ?? []);
  // Two days if the run began before midnight.
  expect(read.length).toBeGreaterThan(0);
  expect([...new Set(read)]).toEqual(read);
});

it('the activity of a run has a letter for each fortieth of its time', async () => {
  const start = Date.now() * 1_000 - 60_000_000;
  const project = await projectWith(
    (
      [
        ['run', 0, 40, {}],
        ['api_invoke', 0, 10, { model_name: 'm-1' }],
        ['tool_call', 10, 15, { tool_name: 'search' }],
        ['step', 20, 30, { error: 'it broke' }],
      ] as const
    ).map(([operation_name, from, to, attribute], index) => ({
      ...{ trace_id: 'trace-0', span_id: `s${index}`, operation_name, attribute },
      ...(index > 0 && { parent_span_id: 's0' }),
      ...{ start_time_us: start + from * 1e6, finish_time_us: start + to * 1e6 },
    })),
  );
  const { data } = await reads.groups({ by: 'run' }, { spans: { project } }, all);
  expect(data[0]?.activity).toBe(`${'m'.repeat(10)}${'t'.repeat(5)}${'-'.repeat(14)}e${'-'.repeat(10)}`);
});

it('the activity of a run shows a failed call without duration at its end', async () => {
  const start = Date.now() * 1_000 - 60_000_000;
  const end = start + 40_000_000;
  const run = { trace_id: 'trace-0', span_id: 's0', operation_name: 'run', attribute: {} };
  const project = await projectWith([
    { ...run, start_time_us: start, finish_time_us: end },
    {
      ...{ trace_id: 'trace-0', span_id: 's1', parent_span_id: 's0', operation_name: 'tool_call' },
      ...{ start_time_us: end, finish_time_us: end, attribute: { tool_name: 'search', error: 'it broke' } },
    },
  ]);
  const { data } = await reads.groups({ by: 'run' }, { spans: { project } }, all);
  expect(data[0]?.activity).toBe(`${'-'.repeat(39)}e`);
});

const groupings: readonly {
  readonly grouping: Grouping;
  readonly keyOf: (span: RawSpan) => string | null;
  /** Where parents are looked for. */
  readonly looked: 'all' | 'group';
}[] = [
  { grouping: { by: 'run' }, keyOf: (span) => span.run_id ?? span.trace_id, looked: 'group' },
  { grouping: { by: 'thread' }, keyOf: (span) => span.thread_id ?? null, looked: 'group' },
  {
    grouping: { by: 'time', bucketSeconds: 60 },
    keyOf: ({ start_time_us: start }) => String(Math.floor(start / 6e7) * 6e7),
    looked: 'all',
  },
];

const keyOfGroup = ({ group_key: { time_bucket, thread_id, run_id } }: GroupView): string =>
  String(time_bucket ?? thread_id ?? run_id);

function figuresByKey(rows: readonly GroupView[]): Record<string, unknown> {
  return Object.fromEntries(
    rows.map((row) => {
      const {
        group_by: _,
        group_key: __,
        run_ids: ___,
        request_models: ____,
        used_tools: _____,
        labels: ______,
        activity,
        ...figures
      } = row;
      expect(activity).toMatch(/^[-mte]{40}$/);
      return [keyOfGroup(row), figures];
    }),
  );
}

/** @param all spans among which parents are looked for; absent: those of the group */
function expectedByKey(
  spans: readonly RawSpan[],
  keyOf: (span: RawSpan) => string | null,
  all?: readonly RawSpan[],
): Record<string, unknown> {
  const groups = Map.groupBy(spans, keyOf);
  groups.delete(null);
  return Object.fromEntries([...groups].map(([key, list]) => [key, expectedFigures(list, knownTexts, all)]));
}

type Sent = readonly [id: string, parent: string | undefined, name: string, attributes: Attributes];

/** One conversation: an agent calls a model, and repeats what that took; by dialect. */
const conversation: Readonly<Record<string, readonly Sent[]>> = {
  vLLora: [
    ['agent', undefined, 'agent', { usage: { input_tokens: 800, output_tokens: 60 } }],
    [
      'call',
      'agent',
      'api_invoke',
      { cost: 0.01, request: { model: 'm-1' }, usage: { input_tokens: 800, output_tokens: 60 } },
    ],
    ['inner', 'call', 'model_call', { model_name: 'm-1', usage: { input_tokens: 800, output_tokens: 60 } }],
  ],
  OpenTelemetry: [
    [
      'agent',
      undefined,
      'invoke_agent a',
      {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.usage.input_tokens': 800,
        'gen_ai.usage.output_tokens': 60,
      },
    ],
    [
      'call',
      'agent',
      'chat m-1',
      {
        'gen_ai.operation.name': 'chat',
        'gen_ai.response.model': 'm-1',
        'gen_ai.usage.cost': 0.01,
        'gen_ai.usage.input_tokens': 800,
        'gen_ai.usage.output_tokens': 60,
      },
    ],
  ],
  OpenInference: [
    [
      'agent',
      undefined,
      'agent',
      { 'openinference.span.kind': 'AGENT', 'llm.token_count.prompt': 800, 'llm.token_count.completion': 60 },
    ],
    [
      'call',
      'agent',
      'ChatModel',
      {
        'openinference.span.kind': 'LLM',
        'llm.model_name': 'm-1',
        'llm.cost.total': 0.01,
        'llm.token_count.prompt': 800,
        'llm.token_count.completion': 60,
      },
    ],
  ],
  'AI SDK': [
    [
      'agent',
      undefined,
      'ai.generateText',
      { 'ai.operationId': 'ai.generateText', 'ai.usage.inputTokens': 800, 'ai.usage.outputTokens': 60 },
    ],
    [
      'call',
      'agent',
      'ai.generateText.doGenerate',
      {
        'ai.operationId': 'ai.generateText.doGenerate',
        'ai.response.model': 'm-1',
        'gen_ai.usage.cost': 0.01,
        'ai.usage.inputTokens': 800,
        'ai.usage.outputTokens': 60,
      },
    ],
  ],
};

it.each(Object.entries(conversation))(
  'one conversation comes to the same in every dialect: %s',
  async (project, sent) => {
    const startUs = Date.now() * 1_000 - 60_000_000;
    const rows = sent.map(([spanId, parentSpanId, name, attributes]) =>
      normaliseSpan(
        { traceId: 'trace', spanId, parentSpanId, name, startUs, finishUs: startUs + 500_000, attributes },
        { project, keyId: null, now: Date.now(), retentionDays: 30 },
      ),
    );
    await makeSpanDays(database.dataSource, new Set(rows.map(startDayOf)));
    await insertSpans(database.dataSource, rows);
    expect(await reads.summary({ project })).toMatchObject({
      summary: { total_cost: 0.01, total_input_tokens: 800, total_output_tokens: 60, models_used: ['m-1'] },
      latency: { p50_ms: 500, max_ms: 500 },
      model_breakdown: [{ model: 'm-1', count: 1, cost: 0.01, input_tokens: 800, output_tokens: 60 }],
    });
  },
);
