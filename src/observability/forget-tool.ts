import type { Metric } from 'prom-client';

/**
 * Removes a deleted tool's series (label `tool`): the number of series is bounded by the tools that exist. Called once
 * the tool's last process and call have ended, or a late count would bring a series back.
 */
export async function forgetTool(tool: string, metrics: readonly Metric[]): Promise<void> {
  for (const metric of metrics) {
    const { values } = await metric.get();
    const own = values.filter(({ labels }) => labels.tool === tool).map(({ labels }) => labels);
    for (const labels of own) {
      // A histogram lists each bucket; `le` is none of the labels that it is removed by.
      const { le: _bucket, ...series } = labels as Record<string, string | number>;
      metric.remove(series);
    }
  }
}
