import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExecutionView } from '../lib/api.js';
import { bytes, duration } from '../lib/format.js';
import { useProjects } from '../lib/project.js';
import { Badge, Tag } from './controls.js';
import css from './controls.module.css';
import { findingText } from './findings.js';
import { type Column, Table } from './table.js';
import { Time } from './time.js';

const marks = ({ isTest, kind, semanticFailure, metadata }: ExecutionView): ReactNode => (
  <>
    {isTest && <Tag>test</Tag>} {kind !== 'tool' && <Tag>{kind}</Tag>}{' '}
    {(semanticFailure !== null || 'semanticError' in metadata) && <Badge state="finding" tone="warn" />}
  </>
);

/** Status of an execution, with its marks. */
export const Ended = ({ execution }: { readonly execution: ExecutionView }): ReactNode => (
  <>
    <Badge state={execution.status} /> {marks(execution)}
  </>
);

/** Status in a list. A success is a dot, so that failures stand out. */
const Status = (execution: ExecutionView): ReactNode =>
  execution.status === 'success' ? (
    <>
      <span className={css.dot} role="img" aria-label="success" title="success" /> {marks(execution)}
    </>
  ) : (
    <Ended execution={execution} />
  );

const time: Column<ExecutionView> = {
  name: 'Time',
  width: 92,
  cell: ({ recordedAt, metricId, project }) => (
    <Link to="/executions/$id" params={{ id: metricId }} search={{ project }}>
      <Time at={recordedAt} />
    </Link>
  ),
};
const tool: Column<ExecutionView> = {
  ...{ name: 'Tool', cut: true, isMono: true, width: 168, card: 'title' },
  cell: ({ toolName }) => <span title={toolName}>{toolName}</span>,
};
const project: Column<ExecutionView> = {
  ...{ name: 'Project', cut: true, width: 112 },
  cell: (execution) => execution.project,
};
const status: Column<ExecutionView> = { name: 'Status', width: 104, card: 'state', cell: Status };
const took: Column<ExecutionView> = {
  name: 'Duration',
  isNumber: true,
  cell: ({ executionTimeMs }) => duration(executionTimeMs),
};
const error: Column<ExecutionView> = {
  name: 'Error',
  cut: true,
  cell(execution) {
    const found = findingText(execution);
    // A card of a phone leaves out an empty cell.
    if (execution.errorType === null) return found && <span title={found}>{found}</span>;
    return (
      <span title={execution.errorMessage ?? undefined}>
        <span className={css.wrong}>{execution.errorType}</span> {execution.errorMessage}
      </span>
    );
  },
};
const caller: Column<ExecutionView> = {
  ...{ name: 'Caller', cut: true, isMono: true, isOptional: true, width: 176 },
  cell: ({ investigationId, userId }) => [investigationId, userId].filter(Boolean).join(' · '),
};
const sizes: Column<ExecutionView> = {
  ...{ name: 'In / out', isNumber: true, width: 124, isOptional: true },
  cell: ({ inputSize, outputSize }) => `${bytes(inputSize)} / ${bytes(outputSize)}`,
};
const input: Column<ExecutionView> = {
  ...{ name: 'Input', cut: true, isOptional: true },
  cell: ({ inputPreview }) => <code title={inputPreview}>{inputPreview}</code>,
};

const all = { time, tool, project, status, took, error, caller, sizes } as const;

/**
 * The columns of executions: with their inputs in place of the sizes, where tools captured some and the caller may see
 * them.
 */
export function columnsOf(
  rows: readonly ExecutionView[],
  hidden: readonly (keyof typeof all)[] = [],
): readonly Column<ExecutionView>[] {
  const hasInputs = rows.some(({ inputPreview }) => inputPreview !== undefined);
  const left = new Set([...hidden, ...(hasInputs ? ['sizes'] : [])]);
  const columns = Object.entries(all).flatMap(([name, column]) => (left.has(name) ? [] : [column]));
  return hasInputs ? columns.toSpliced(columns.indexOf(status), 0, input) : columns;
}

/** Columns that are equal in all rows of one project. */
export const without = (isMixed: boolean) => (isMixed ? [] : (['project'] as const));

export const executionKey = ({ metricId }: ExecutionView): string => metricId;

interface ExecutionTableProps {
  readonly label: string;
  readonly rows: readonly ExecutionView[];
  /** All rows are of one tool, so that its column is left out. */
  readonly ofOneTool?: boolean;
}

export function ExecutionTable({ label, rows, ofOneTool = false }: ExecutionTableProps): ReactNode {
  const { isMixed } = useProjects();
  const columns = columnsOf(rows, [...(ofOneTool ? ['tool' as const] : []), ...without(isMixed)]);
  return <Table {...{ label, rows, columns }} keyOf={executionKey} />;
}
