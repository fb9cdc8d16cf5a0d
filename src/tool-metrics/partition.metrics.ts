import { makeGaugeProvider } from '@willsoto/nestjs-prometheus';

export const partitionMetrics = [
  makeGaugeProvider({
    name: 'toolkeeper_metrics_default_partition_rows',
    help: 'Executions on days without a partition of their own, counted every hour up to 10,000',
  }),
];
