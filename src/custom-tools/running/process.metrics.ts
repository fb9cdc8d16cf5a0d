import { makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';

export const processMetricNames = {
  spawns: 'toolkeeper_process_spawns_total',
  terminations: 'toolkeeper_process_terminations_total',
  strayLines: 'toolkeeper_process_stray_lines_total',
  processes: 'toolkeeper_processes',
  memory: 'toolkeeper_process_memory_bytes',
} as const;

export const processMetrics = [
  makeCounterProvider({
    name: processMetricNames.spawns,
    help: 'Tool processes started',
    labelNames: ['tool'],
  }),
  makeCounterProvider({
    name: processMetricNames.terminations,
    help: 'Tool processes ended, by reason',
    labelNames: ['tool', 'reason'],
  }),
  makeCounterProvider({
    name: processMetricNames.strayLines,
    help: 'Lines on the stdout of tool processes that were no messages',
    labelNames: ['tool'],
  }),
  makeGaugeProvider({
    name: processMetricNames.processes,
    help: 'Tool processes by state',
    labelNames: ['tool', 'state'],
  }),
  makeGaugeProvider({
    name: processMetricNames.memory,
    help: "Resident memory of a tool's processes",
    labelNames: ['tool'],
  }),
];
