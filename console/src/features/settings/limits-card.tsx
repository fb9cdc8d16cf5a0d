import type { ReactNode } from 'react';
import { bytes, counted, duration, number } from '../../lib/format.js';
import { useSession } from '../../lib/session.js';
import { Card } from '../../ui/layout.js';
import { type Column, Table } from '../../ui/table.js';

type Limit = readonly [variable: string, value: number];

/** The limits' labels and the formats of their values. */
const known: Readonly<Record<string, readonly [about: string, format: (value: number) => string]>> = {
  INVESTIGATION_CALLS_PER_TOOL: [
    'Calls of one tool in an investigation',
    (value) => (value === 0 ? 'no limit' : number(value)),
  ],
  CUSTOM_TOOLS_DEFAULT_TIMEOUT: ['Default timeout of a call', duration],
  TOOL_INPUT_MAX_BYTES: ['Input of a call', bytes],
  CUSTOM_TOOLS_MAX_OUTPUT_BYTES: ['Answer of a tool', bytes],
  CUSTOM_TOOLS_MAX_QUEUE: ['Calls that wait for one tool', number],
  CUSTOM_TOOLS_MAX_PROCESSES: ['Processes of all tools together', number],
  BUNDLE_MAX_BYTES: ['Uploaded files of a tool', (value) => (value === 0 ? 'none' : bytes(value))],
  METRICS_RETENTION_DAYS: ['Executions are kept', (value) => counted(value, 'day')],
  SPANS_RETENTION_DAYS: ['Spans are kept', (value) => counted(value, 'day')],
};

const columns: readonly Column<Limit>[] = [
  { name: 'Limit', cell: ([variable]) => known[variable]?.[0] ?? variable },
  {
    name: 'Value',
    isNumber: true,
    width: 120,
    cell: ([variable, value]) => (known[variable]?.[1] ?? number)(value),
  },
  { name: 'Set by', isMono: true, cell: ([variable]) => variable },
];

export function LimitsCard(): ReactNode {
  const { environment } = useSession();
  if (!environment) return null;
  return (
    <Card title="Limits" flush>
      <Table
        label="Limits"
        rows={Object.entries(environment.limits)}
        columns={columns}
        keyOf={([variable]) => variable}
      />
    </Card>
  );
}
