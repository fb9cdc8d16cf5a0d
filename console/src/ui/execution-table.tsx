import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ExecutionView } from '../lib/api.js';
import { bytes, duration } from '../lib/format.js';
import { Badge, Tag } from './controls.js';
import { type Column, Table } from './table.js';
import { Time } from './time.js';

/** Status of an execution, with its failure type if that adds information. */
export const Ended = ({ execution }: { readonly execution: ExecutionView }): ReactNode => (
  <>
    <Badge state={execution.status} /> {execution.isTest && <Tag>test</Tag>}{' '}
    {execution.semanticFailure !== null && <Tag>semantic failure</Tag>}
  </>
);

const when: Column<ExecutionView> = {
  name: 'When',
  width: 92,
  cell: ({ recordedAt, metricId }) => (
    <Link to="/executions/$id" params={{ id: metricId }}>
      <Time at={recordedAt} />
    </Link>
  ),
};
const tool: Column<ExecutionView> = {
  ...{ name: 'Tool', cut: true, isMono: true, width: 168 },
  cell: ({ toolName }) => <span title={toolName}>{toolName}</span>,
};
const ended: Column<ExecutionView> = {
  name: 'Ended',
  width: 132,
  cell: (execution) => <Ended execution={execution} />,
};
const took: Column<ExecutionView> = {
  name: 'Took',
  isNumber: true,
  cell: ({ executionTimeMs }) => duration(executionTimeMs),
};
const why: Column<ExecutionView> = {
  name: 'Why',
  cut: true,
  cell: ({ errorType, errorMessage }) => (
    <span title={errorMessage ?? undefined}>
      {errorType === null ? '' : `${errorType}: ${errorMessage ?? ''}`}
    </span>
  ),
};
const forWhom: Column<ExecutionView> = {
  ...{ name: 'For', cut: true, isMono: true, width: 124, isOptional: true },
  cell: ({ investigationId, userId }) => investigationId ?? userId,
};
const sizes: Column<ExecutionView> = {
  ...{ name: 'In / out', isNumber: true, width: 132, isOptional: true },
  cell: ({ inputSize, outputSize }) => `${bytes(inputSize)} / ${bytes(outputSize)}`,
};

const input: Column<ExecutionView> = {
  ...{ name: 'Input', cut: true, isOptional: true },
  cell: ({ inputPreview }) => <code title={inputPreview}>{inputPreview}</code>,
};

const executionColumns = [when, tool, ended, took, why, forWhom, sizes];

/** With their inputs in place of the sizes, where tools captured some and the caller may see them. */
export const columnsOf = (rows: readonly ExecutionView[]): readonly Column<ExecutionView>[] =>
  rows.some(({ inputPreview }) => inputPreview !== undefined)
    ? executionColumns.toSpliced(2, 0, input).filter((column) => column !== sizes)
    : executionColumns;

const shortColumns = [when, { ...tool, width: undefined }, ended, took];

interface ExecutionTableProps {
  readonly label: string;
  readonly rows: readonly ExecutionView[];
  /** Without the columns that need the width of a page. */
  readonly short?: boolean;
  /** The tool goes without saying. */
  readonly ofOneTool?: boolean;
}

export function ExecutionTable({
  label,
  rows,
  short = false,
  ofOneTool = false,
}: ExecutionTableProps): ReactNode {
  const columns = short ? shortColumns : columnsOf(rows);
  return (
    <Table
      label={label}
      rows={rows}
      columns={ofOneTool ? columns.filter((each) => each !== tool) : columns}
      keyOf={({ metricId }) => metricId}
    />
  );
}
