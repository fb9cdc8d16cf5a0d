import { describe, expect, it } from '@jest/globals';
import type { SkeletonView } from '../../lib/api-types.js';
import { axisOf, gapsIn } from './axis.js';
import { boxesOf, flameOf } from './flame.js';
import { traceOf, waitsOf } from './trace.js';
import { TraceStore } from './trace-store.js';

/** By start: a root with a model call and a tool below it, which has a step; and a second root. */
const view: SkeletonView = {
  ...{ spans: 5, total_spans: 5, start_time_us: 1_000, id_length: 4 },
  span_ids: 'rootllm step2nd tool',
  parents: [-1, 0, 4, -1, 0],
  starts_after_ms: [0, 10, 10, 10, 10],
  durations_ms: [100, 5, 5, 5, 40],
  types: [
    { operation: 'run', kind: 'chain', status: 'success' },
    { operation: 'api_invoke', kind: 'llm', status: 'success' },
    { operation: 'tool_call', kind: 'tool', status: 'error' },
  ],
  type: [0, 1, 2, 0, 2],
  names: ['gpt', 'run', 'search'],
  name: [1, 0, 2, 1, 2],
  labels: ['support'],
  label: [-1, -1, 0, -1, -1],
  costs: [0.5, 0.25, 0.125, 0, 0.125],
  tokens: [0, 100, 0, 7, 20],
  flags: [0, 2, 1, 0, 5],
  patterns: ['failed to'],
  execution_ids: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f',
};
const idsOf = (store: TraceStore): string[] =>
  Array.from(store.read().visible, (span) => store.trace.idOf(span));

const trace = traceOf(view);

describe('a trace from columns', () => {
  it('stands in the order of its tree, with what each span is below', () => {
    expect(Array.from({ length: 5 }, (_, span) => trace.idOf(span))).toEqual([
      'root',
      'llm',
      'tool',
      'step',
      '2nd',
    ]);
    expect([...trace.parents]).toEqual([-1, 0, 0, 2, -1]);
    expect([...trace.ends]).toEqual([4, 2, 4, 4, 5]);
    expect([...trace.positions]).toEqual([1, 1, 2, 1, 2]);
    expect([...trace.starts]).toEqual([0, 10, 40, 20, 30]);
    expect(trace.durationMs).toBe(100);
  });

  it('sums cost and tokens; what a span reports again for those below it counts once', () => {
    expect([...trace.costs]).toEqual([0.5, 0.25, 0.125, 0.125, 0]);
    expect([...trace.tokens]).toEqual([120, 100, 20, 0, 7]);
  });

  it('finds spans by id, by execution and by text', () => {
    expect([trace.placeOf('step'), trace.placeOf(view.execution_ids), trace.placeOf('none')]).toEqual([
      3, 2, -1,
    ]);
    expect([...trace.search('SEARCH')]).toEqual([2, 3]);
    expect([...trace.search('failed')]).toEqual([1]);
    expect([...trace.search('2nd')]).toEqual([4]);
  });

  it('waits for one span at a time, the one that ends last', () => {
    expect([...waitsOf(trace)]).toEqual([50 + 5, 5, 40, 0, 0]);
  });

  it('holds a span that is below itself, as a root', () => {
    const { count, rootCount } = traceOf({ ...view, parents: [-1, 2, 1, -1, 0] });
    expect([count, rootCount]).toEqual([5, 3]);
  });
});

describe('the view of a trace', () => {
  it('collapses spans and levels, and opens what a selected span stands below', () => {
    const store = new TraceStore(trace);
    store.toggle(2);
    expect(idsOf(store)).toEqual(['root', 'llm', 'tool', '2nd']);
    expect(store.place.collapsed).toBe('tool');
    store.collapseTo(1);
    expect(idsOf(store)).toEqual(['root', '2nd']);
    store.select(3);
    expect(idsOf(store)).toEqual(['root', 'llm', 'tool', 'step', '2nd']);
    const { place } = store;
    expect(place).toMatchObject({ span: 'step', collapsed: 'L1,tool,root' });
    const other = new TraceStore(trace);
    other.goTo(place);
    expect([idsOf(other), other.place]).toEqual([idsOf(store), place]);
  });

  it('leaves out spans without a label, but for those above and below, until one of them is selected', () => {
    const store = new TraceStore(trace);
    store.goTo({ labels: 'support,other', span: 'step', collapsed: 'tool' });
    expect([idsOf(store), store.place.labels]).toEqual([['root', 'tool', 'step'], 'support,other']);
    store.select(1);
    expect([idsOf(store).length, store.place.labels]).toEqual([5, undefined]);
  });

  it('stays as it is when spans are added, and names highlighted ones that are absent', () => {
    const store = new TraceStore(trace);
    store.goTo({ span: 'step', q: 'search', from: 10, to: 50, collapsed: 'llm', labels: 'support' });
    expect(store.highlight(['2nd', 'step', 'gone'], 'look here')).toEqual(['gone']);
    const ids = view.span_ids.replace('rootllm', 'rootnew llm');
    const later = traceOf({
      ...{ ...view, spans: 6, total_spans: 6, span_ids: ids, parents: [-1, 0, 0, 5, -1, 0] },
      ...{ starts_after_ms: [0, 5, 5, 10, 10, 10], durations_ms: [200, 3, 5, 5, 5, 40] },
      ...{ type: [0, 0, 1, 2, 0, 2], name: [1, 1, 0, 2, 1, 2], costs: [0, 0, 0, 0, 0, 0] },
      ...{ tokens: [0, 0, 0, 0, 0, 0], flags: [0, 0, 2, 1, 0, 5], label: [-1, -1, -1, 0, -1, -1] },
    });
    const after = new TraceStore(later, store);
    expect(after.place).toEqual(store.place);
    expect([...after.read().highlighted].map(later.idOf)).toEqual(['2nd', 'step']);
    expect([after.read().note, after.read().moves]).toEqual(['look here', store.read().moves]);
  });

  it('goes to the next span that is wrong, round about', () => {
    const store = new TraceStore(trace);
    const seen = Array.from({ length: 4 }, () => {
      store.nextWrong();
      return store.place.span;
    });
    expect(seen).toEqual(['llm', 'tool', 'step', 'llm']);
  });
});

describe('the axis of time', () => {
  it('folds the gaps in which no span without others below it ran', () => {
    // Leaves run from 10 to 15, from 20 to 25 and from 30 to 35; each gap counts above 5 % of 100.
    expect(gapsIn(trace)).toEqual([
      { from: 0, to: 10 },
      { from: 35, to: 100 },
    ]);
  });

  it('places times beside folds, and finds them back', () => {
    const axis = axisOf({ from: 0, to: 100 }, [{ from: 40, to: 90 }]);
    expect(axis.placeOf(0)).toBe(0);
    expect(axis.placeOf(100)).toBeCloseTo(1);
    expect(axis.placeOf(90) - axis.placeOf(40)).toBeCloseTo(0.015);
    for (const ms of [3, 40, 77, 95]) expect(axis.timeAt(axis.placeOf(ms))).toBeCloseTo(ms);
    expect(axisOf({ from: 50, to: 60 }, [{ from: 40, to: 90 }]).placeOf(55)).toBeCloseTo(0.5);
  });
});

describe('a flame graph', () => {
  it('merges spans by path, with self times that children do not cover and costs that count once', () => {
    const whole = flameOf(trace);
    const [run, second] = [...whole.below.values()];
    expect([whole.below.size, second]).toEqual([1, undefined]);
    expect(run).toMatchObject({ name: 'run', count: 2, totalMs: 105, cost: 0.5, selfMs: 105 - 5 - 40 });
    expect([...(run?.below.values() ?? [])]).toMatchObject([
      { name: 'gpt', count: 1, selfMs: 5 },
      { name: 'search', count: 1, selfMs: 40, time: 45 },
    ]);
    expect([whole.count, whole.time, whole.cost]).toEqual([5, 110, 0.5]);
    expect(boxesOf(whole, 'cost').map(({ frame, left, width }) => [frame.name, left, width])).toEqual([
      ...[
        ['Whole trace', 0, 1],
        ['run', 0, 1],
        ['gpt', 0, 0.5],
        ['search', 0.5, 0.25],
        ['search', 0.5, 0.25],
      ],
    ]);
  });

  it.each([
    ['of depth 5,000', (span: number) => (span % 5_000) - 1, 2_000],
    ['side by side', (span: number) => Math.min(span, 1) - 1, 3],
  ])('of 50,000 spans %s has at most 2,000 boxes', (_, parentOf, boxes) => {
    const spans = 50_000;
    const column = (of: (span: number) => number): number[] =>
      Array.from({ length: spans }, (_none, n) => of(n));
    const large = traceOf({
      ...{ ...view, spans, total_spans: spans, id_length: 1, span_ids: 'x'.repeat(spans), patterns: [] },
      ...{ parents: column(parentOf), names: column((n) => n).map(String), name: column((n) => n) },
      ...{ starts_after_ms: column(() => 0), durations_ms: column(() => 5_000), type: column(() => 0) },
      ...{ label: column(() => -1), costs: column(() => 1), tokens: column(() => 0), flags: column(() => 0) },
    });
    const whole = flameOf(large);
    expect([whole.count, boxesOf(whole, 'cost').length]).toEqual([spans, boxes]);
  });
});
