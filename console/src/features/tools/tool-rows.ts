import type {
  CircuitStateView,
  CustomToolView,
  SystemHealthView,
  ToolReportView,
  ToolView,
} from '../../lib/api.js';
import { allTools, type ListedTool } from '../../lib/all-tools.js';
import type { toolsSearch } from '../../lib/searches.js';

/** A tool as its line in the list: what it is, and how it did in the last hour. */
export interface ToolRow extends ListedTool {
  readonly status: CustomToolView['status'];
  /** Absent for an MCP server: each of its tools has its own. */
  readonly report: ToolReportView | undefined;
  readonly circuit: CircuitStateView['state'];
}

export type Wanted = ReturnType<typeof toolsSearch>;

export function toolRows(
  tools: readonly ToolView[],
  custom: readonly CustomToolView[],
  health: SystemHealthView | undefined,
): ToolRow[] {
  const { toolReports = [], circuits = [] } = health ?? {};
  const statuses = new Map(custom.map(({ name, status }) => [name, status]));
  const byName = new Map(toolReports.map((report) => [report.toolName, report]));
  return allTools(tools, custom).map(({ name, description, kind }) => ({
    ...{ name, description, kind, status: statuses.get(name) ?? 'active' },
    report: kind === 'server' ? undefined : byName.get(name),
    circuit: circuits.find(({ tool }) => tool === name)?.state ?? 'closed',
  }));
}

export function wantedRows(
  rows: readonly ToolRow[],
  { q = '', kind, grade, circuit, status }: Wanted,
): ToolRow[] {
  const words = q.toLowerCase().split(/\s+/);
  return rows
    .filter(
      (row) =>
        words.every((word) => `${row.name} ${row.description}`.toLowerCase().includes(word)) &&
        (kind === undefined || row.kind === kind) &&
        (grade === undefined || row.report?.status === grade) &&
        (circuit === undefined || row.circuit === circuit) &&
        (status === undefined || row.status === status),
    )
    .sort((a, b) => a.name.localeCompare(b.name));
}
