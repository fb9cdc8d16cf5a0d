/** The part of the server's series that charts draw. */
interface Series {
  readonly bucketMs: number;
  /** Oldest first, without gaps. */
  readonly data: readonly {
    readonly at: string;
    readonly calls: number;
    readonly errors: number;
    readonly timeouts: number;
    readonly p95TimeMs: number | null;
  }[];
}

/** One bucket of a chart. */
export interface ChartPoint {
  readonly startedAt: number;
  readonly endedAt: number;
  /** null: no execution in the bucket has one. */
  readonly value: number | null;
  /** The part of the value that counts failures. */
  readonly bad?: number;
}

const rates = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });
/** "0.5", "12": a rate per minute. */
export const rate = (value: number): string => rates.format(value);

const minuteMs = 60_000;

type Bucket = Series['data'][number];

const pointsOf = ({ data, bucketMs }: Series, valueOf: (bucket: Bucket) => number | null): ChartPoint[] =>
  data.map((bucket) => {
    const startedAt = Date.parse(bucket.at);
    return { startedAt, endedAt: startedAt + bucketMs, value: valueOf(bucket) };
  });

/** Drops the empty buckets before the first call, so that the axis of a young server starts there. */
export function sinceFirstCall<B extends { readonly calls: number }>(data: readonly B[]): readonly B[] {
  const first = data.findIndex(({ calls }) => calls > 0);
  return data.slice(Math.max(0, first));
}

/** Executions per minute. The current bucket counts only the time that has passed. */
export const ratesOf = ({ data, bucketMs }: Series, now: number): ChartPoint[] =>
  data.map(({ at, calls, errors, timeouts }) => {
    const startedAt = Date.parse(at);
    const endedAt = Math.min(startedAt + bucketMs, Math.max(now, startedAt + minuteMs));
    const minutes = (endedAt - startedAt) / minuteMs;
    return { startedAt, endedAt, value: calls / minutes, bad: (errors + timeouts) / minutes };
  });

/** 95th percentile of the durations, in ms. */
export const p95Of = (series: Series): ChartPoint[] => pointsOf(series, ({ p95TimeMs }) => p95TimeMs);

/** Share of failed executions, 0 to 1. */
export const failingOf = (series: Series): ChartPoint[] =>
  pointsOf(series, ({ calls, errors, timeouts }) => (calls === 0 ? null : (errors + timeouts) / calls));

/** The smallest round number that is not below any value: the top of a chart. */
export function topOf(points: readonly ChartPoint[], least = 0): number {
  const most = points.reduce((top, { value }) => Math.max(top, value ?? 0), least);
  if (most === 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 4, 5, 6, 8, 10].find((step) => step * unit >= most) ?? 10) * unit;
}

const steps = [1, 5, 10, 15, 30, 60, 180, 360, 720, 1_440, 2_880, 10_080].map(
  (minutes) => minutes * minuteMs,
);
const maxTicks = 5;
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric' });

/** Round times of the browser's time zone between two moments. */
export function ticksOf(start: number, end: number): { at: number; text: string }[] {
  const step = steps.find((each) => (end - start) / each <= maxTicks) ?? end - start;
  const offset = new Date(start).getTimezoneOffset() * minuteMs;
  const first = Math.ceil((start - offset) / step) * step + offset;
  const count = Math.max(0, Math.floor((end - first) / step) + 1);
  return Array.from({ length: count }, (_, index) => first + index * step).map((at) => ({
    at,
    text: (step < 1_440 * minuteMs ? clock : day).format(at),
  }));
}

/** Runs of neighbours that have a value. A line has gaps between them. */
export function runsOf(points: readonly ChartPoint[]): { index: number; value: number }[][] {
  const runs: { index: number; value: number }[][] = [];
  let run: { index: number; value: number }[] | undefined;
  points.forEach(({ value }, index) => {
    if (value === null) run = undefined;
    else if (run) run.push({ index, value });
    else runs.push((run = [{ index, value }]));
  });
  return runs;
}
