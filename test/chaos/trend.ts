export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A straight line through points: its slope, and where that lies with 95 % confidence. */
export interface Trend {
  readonly slope: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Least squares. Neighbouring samples of one process are alike, which makes them look more certain than they are: the
 * points are averaged in blocks first.
 * @param blocks how many points the line is laid through; undefined is answered for fewer than 4
 */
export function trendOf(points: readonly Point[], blocks = 20): Trend | undefined {
  const averaged = inBlocks(points, blocks);
  const n = averaged.length;
  if (n < 4) return undefined;
  const meanX = mean(averaged.map(({ x }) => x));
  const meanY = mean(averaged.map(({ y }) => y));
  const spread = sum(averaged.map(({ x }) => (x - meanX) ** 2));
  const slope = sum(averaged.map(({ x, y }) => (x - meanX) * (y - meanY))) / spread;
  const residual = sum(averaged.map(({ x, y }) => (y - meanY - slope * (x - meanX)) ** 2));
  const margin = studentT(n - 2) * Math.sqrt(residual / (n - 2) / spread);
  return { slope, low: slope - margin, high: slope + margin };
}

function inBlocks(points: readonly Point[], blocks: number): Point[] {
  const size = Math.max(1, Math.floor(points.length / blocks));
  const starts = Array.from({ length: Math.floor(points.length / size) }, (_, n) => n * size);
  return starts.map((start) => {
    const block = points.slice(start, start + size);
    return { x: mean(block.map(({ x }) => x)), y: mean(block.map(({ y }) => y)) };
  });
}

/** The two-sided 95 % quantile of Student's distribution, expanded from the normal one's (off by 3 % at 2 degrees). */
function studentT(degrees: number): number {
  const z = 1.959964;
  return z + (z ** 3 + z) / (4 * degrees) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;
