import { makeCounterProvider, makeGaugeProvider, makeHistogramProvider } from '@willsoto/nestjs-prometheus';
import type { Metric } from 'prom-client';

/** Providers of metrics. `@InjectMetric(name)` injects the metric. */
export const counter = (name: string, help: string, ...labelNames: string[]) =>
  makeCounterProvider({ name, help, labelNames });
export const gauge = (name: string, help: string, ...labelNames: string[]) =>
  makeGaugeProvider({ name, help, labelNames });
export const histogram = (name: string, help: string, buckets: number[], ...labelNames: string[]) =>
  makeHistogramProvider({ name, help, buckets, labelNames });

/**
 * Removes a deleted tool's series (label `tool`), so that the number of series stays bounded. It must be called after the
 * tool's last process and call have ended, because a late count would create a series again.
 */
export async function forgetTool(tool: string, metrics: readonly Metric[]): Promise<void> {
  for (const metric of metrics) {
    const { values } = await metric.get();
    const own = values.filter(({ labels }) => labels.tool === tool).map(({ labels }) => labels);
    for (const labels of own) {
      // A histogram lists each bucket, but is removed by its labels without `le`.
      const { le: _bucket, ...series } = labels as Record<string, string | number>;
      metric.remove(series);
    }
  }
}
