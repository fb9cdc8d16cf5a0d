import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { cost, counted, duration, number, timeSpan } from '../../lib/format.js';
import { Tags } from '../../ui/controls.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import type { Group } from './groups.js';
import css from './trace-table.module.css';

const route = getRouteApi('/shell/traces');
export const hourSeconds = 3_600;

export const keyOf = ({
  project,
  group_key: { run_id: run, thread_id: thread, time_bucket: hour },
}: Group): string => JSON.stringify([run ?? thread ?? hour, project]);

const isoOf = (us: number): string => new Date(us / 1_000).toISOString();

/** The place that a row leads to: the trace of a run; the runs of a thread or an hour. */
function placeOf({ project, group_by: by, group_key: key, trace_ids: [trace = ''] }: Group) {
  if (by === 'thread') return { to: '/traces', search: { project, thread: key.thread_id } } as const;
  if (by === 'run') return { to: '/traces/$id', params: { id: trace }, search: { project } } as const;
  const from = key.time_bucket ?? 0;
  return {
    to: '/traces',
    search: { project, since: isoOf(from), until: isoOf(from + hourSeconds * 1_000_000 - 1_000) },
  } as const;
}

/** Runs of calls that named no trace and no run are called by what they named instead, such as an investigation. */
const callRun = /^(?:investigation|thread|session):(.*?)(?::\d{8}T\d{6})?$/;

function nameOf({ group_by: by, group_key: key, ...row }: Group): string {
  if (by === 'thread') return key.thread_id ?? '';
  const [, named] = callRun.exec(key.run_id ?? '') ?? [];
  if (by === 'run' && named) return named;
  // A run that is the call of a tool alone.
  if (by === 'run' && row.root_operation === 'tool_call' && row.used_tools[0] !== undefined)
    return row.used_tools[0];
  // Many agents call each of their runs so.
  const used = [...row.used_tools.slice(0, 2), ...row.used_models.slice(0, 1)].join(', ');
  if (by === 'run' && row.root_operation === 'run') return row.labels[0] ?? (used ? `run: ${used}` : 'run');
  if (by === 'run') return row.root_operation ?? row.used_models[0] ?? key.run_id ?? '';
  const from = (key.time_bucket ?? 0) / 1_000;
  return timeSpan(from, from + hourSeconds * 1_000);
}

const project: Column<Group> = { name: 'Project', cut: true, width: 112, cell: (row) => row.project };
const columns: readonly Column<Group>[] = [
  {
    ...{ name: 'Name', cut: true, card: 'title' },
    cell: (row) => (
      <>
        <Link {...placeOf(row)} title={nameOf(row)}>
          {nameOf(row)}
        </Link>{' '}
        <Tags words={row.labels.filter((label) => label !== nameOf(row)).slice(0, 2)} />
      </>
    ),
  },
  project,
  { name: 'Started', width: 92, cell: ({ start_time_us: us }) => <Time at={isoOf(us)} /> },
  {
    ...{ name: 'Activity', width: 136 },
    cell: ({ activity }) => <Activity letters={activity} />,
  },
  { name: 'Duration', isNumber: true, card: 'state', cell: ({ duration_ms: ms }) => duration(ms) },
  {
    ...{ name: 'Tokens', isNumber: true },
    cell: ({ input_tokens: asked, output_tokens: said }) =>
      (asked ?? said) === null ? '–' : number((asked ?? 0) + (said ?? 0)),
  },
  { name: 'Cost', isNumber: true, cell: (row) => cost(row.cost) },
  {
    ...{ name: 'Errors', cut: true, width: 210 },
    cell: (row) => row.error_count + row.semantic_error_count > 0 && <Wrong row={row} />,
  },
  {
    ...{ name: 'Thread', cut: true, isMono: true, width: 150, isOptional: true },
    cell: ({ thread_ids: threads }) =>
      // A group lists 100 threads at most.
      threads.length > 1 ? `${threads.length}${threads.length < 100 ? '' : '+'} threads` : (threads[0] ?? ''),
  },
];

/** Heights of bars in a small waterfall: models above tools, failures over both. */
const bars = { m: '0h1v4', t: '6h1v4', e: '0h1v10' } as const;

const Activity = ({ letters }: { readonly letters: string }): ReactNode => (
  <svg
    className={css.activity}
    viewBox={`0 0 ${letters.length} 10`}
    preserveAspectRatio="none"
    role="img"
    aria-label="Models above, tools below and failures in time"
  >
    {Object.entries(bars).map(([letter, bar]) => (
      <path
        key={letter}
        data-letter={letter}
        d={[...letters].map((each, at) => (each === letter ? `M${at} ${bar}h-1z` : '')).join('')}
      />
    ))}
  </svg>
);

const Wrong = ({ row }: { readonly row: Group }): ReactNode => (
  <>
    {row.error_count > 0 && (
      <span className={css.error} title={row.errors.join('\n').slice(0, 1_000)}>
        {counted(row.error_count, 'error')}
      </span>
    )}{' '}
    {row.semantic_error_count > 0 && (
      <span className={css.semantic}>findings in {counted(row.semantic_error_count, 'span')}</span>
    )}
  </>
);

interface TraceTableProps {
  readonly rows: readonly Group[];
  /** Rows of several projects may stand beside each other. */
  readonly isMixed: boolean;
}

/** Runs, threads or hours with their figures. */
export function TraceTable({ rows, isMixed }: TraceTableProps): ReactNode {
  const { compare: a } = route.useSearch();
  const navigate = useNavigate();
  /** Selects a run; with another one it leads to their comparison. */
  const choose = (b: string, its: string | undefined): void =>
    void (a === undefined || a === b
      ? navigate({ to: '.', search: (old) => ({ ...old, compare: a ? undefined : b }), replace: true })
      : navigate({ to: '/traces/compare', search: { a, b, project: its } }));
  const choice: Column<Group> = {
    ...{ name: 'Compare', width: 76 },
    cell: (row) => (
      <input
        type="checkbox"
        aria-label={`Compare ${nameOf(row)}`}
        checked={row.group_key.run_id === a}
        onChange={() => choose(row.group_key.run_id ?? '', row.project)}
      />
    ),
  };
  const shown = isMixed ? columns : columns.filter((each) => each !== project);
  return (
    <Table
      label="Traces"
      rows={rows}
      columns={rows[0]?.group_by === 'run' ? [...shown, choice] : shown}
      keyOf={keyOf}
      onOpen={(row) => void navigate(placeOf(row))}
    />
  );
}
