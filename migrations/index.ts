import { ToolMetrics1732200010000 } from './0001-tool-metrics.js';
import { CustomTools1732200030000 } from './0003-custom-tools.js';
import { PlaybookCatalog1732200040000 } from './0004-playbook-catalog.js';
import { CustomToolRevisions1732200050000 } from './0005-custom-tool-revisions.js';
import { PinnedCommand1732200060000 } from './0006-pinned-command.js';
import { ToolMetricsIndexes1732200070000 } from './0007-tool-metrics-indexes.js';
import { Quarantine1732200080000 } from './0008-quarantine.js';
import { ToolMetricsByDay1732200090000 } from './0009-tool-metrics-by-day.js';
import { CircuitTransitions1732200120000 } from './0012-circuit-transitions.js';
import { CustomToolThresholds1732200130000 } from './0013-custom-tool-thresholds.js';
import { IdempotencyKeys1732200140000 } from './0014-idempotency-keys.js';
import { ToolCache1732200150000 } from './0015-tool-cache.js';
import { PlaybookChanges1732200160000 } from './0016-playbook-changes.js';
import { ShownPlaybooks1732200170000 } from './0017-shown-playbooks.js';
import { PlaybookEmbeddings1732200180000 } from './0018-playbook-embeddings.js';
import { ToolLastDays1732200190000 } from './0019-tool-last-days.js';
import { NarrowToolIndex1732200200000 } from './0020-narrow-tool-index.js';
import { CircuitOpenings1732200210000 } from './0021-circuit-openings.js';
import { FewerRollupSpans1732200220000 } from './0022-fewer-rollup-spans.js';
import { ToolUsers1732200230000 } from './0023-tool-users.js';

/** Every migration in order; append only. */
export const migrations = [
  ToolMetrics1732200010000,
  CustomTools1732200030000,
  PlaybookCatalog1732200040000,
  CustomToolRevisions1732200050000,
  PinnedCommand1732200060000,
  ToolMetricsIndexes1732200070000,
  Quarantine1732200080000,
  ToolMetricsByDay1732200090000,
  CircuitTransitions1732200120000,
  CustomToolThresholds1732200130000,
  IdempotencyKeys1732200140000,
  ToolCache1732200150000,
  PlaybookChanges1732200160000,
  ShownPlaybooks1732200170000,
  PlaybookEmbeddings1732200180000,
  ToolLastDays1732200190000,
  NarrowToolIndex1732200200000,
  CircuitOpenings1732200210000,
  FewerRollupSpans1732200220000,
  ToolUsers1732200230000,
];
