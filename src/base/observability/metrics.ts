import { makeCounterProvider, makeGaugeProvider, makeHistogramProvider } from '@willsoto/nestjs-prometheus';

/** Providers of metrics. `@InjectMetric(name)` injects the metric. */
export const counter = (name: string, help: string, ...labelNames: string[]) =>
  makeCounterProvider({ name, help, labelNames });
export const gauge = (name: string, help: string, ...labelNames: string[]) =>
  makeGaugeProvider({ name, help, labelNames });
export const histogram = (name: string, help: string, buckets: number[], ...labelNames: string[]) =>
  makeHistogramProvider({ name, help, buckets, labelNames });
