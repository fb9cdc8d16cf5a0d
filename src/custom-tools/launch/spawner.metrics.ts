import { makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';

export const spawnerMetricNames = {
  up: 'toolkeeper_spawner_up',
  waiting: 'toolkeeper_spawner_waiting',
  restarts: 'toolkeeper_spawner_restarts_total',
} as const;

export const spawnerMetrics = [
  makeGaugeProvider({
    name: spawnerMetricNames.up,
    help: '1: processes are started by the spawner; 0: directly',
  }),
  makeGaugeProvider({
    name: spawnerMetricNames.waiting,
    help: 'Starts of processes that the spawner has not answered',
  }),
  makeCounterProvider({
    name: spawnerMetricNames.restarts,
    help: 'Spawners that took the place of one that died',
  }),
];
