import type { HealthReasonView } from '../../lib/api.js';
import { counted, duration, percent } from '../../lib/format.js';

/** A grading rule with its value and threshold: "success 85 % (limit 95 %)". */
export function reasonText({ rule, figure, threshold }: HealthReasonView): string {
  switch (rule) {
    case 'success_rate':
      return `success ${percent(figure)} (limit ${percent(threshold)})`;
    case 'avg_latency':
      return `${duration(figure)} on average (limit ${duration(threshold)})`;
    case 'minimum_calls':
      return `${counted(figure, 'call')}, ${threshold} are needed for a grade`;
    case 'ever_executed':
      return 'never called';
  }
}
