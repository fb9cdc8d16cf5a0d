import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { counted, number } from '../../lib/format.js';
import { useConnection } from '../../lib/live.js';
import type { Connection } from '../../lib/server-stream.js';
import { eventTypes, type eventsSearch } from '../../lib/searches.js';
import { sinceMoment } from '../../lib/time-range.js';
import { useChange } from '../../lib/use-change.js';
import { Badge, Button, type Tone } from '../../ui/controls.js';
import { type Filter, FilterBar } from '../../ui/filters.js';
import { Muted, Page, Panel, Row, Stack } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';
import { type Column, Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { type Happening, useEventLog } from './use-event-log.js';

const route = getRouteApi('/shell/events');

type Search = ReturnType<typeof eventsSearch>;

/** Rows rendered at first; a button loads more. */
const pageSize = 200;

const tones: Readonly<Record<string, Tone>> = {
  'tool.crashed': 'bad',
  'tool.failed': 'bad',
  'tool.degraded': 'warn',
  'tool.recovered': 'good',
  'circuit.opened': 'bad',
  'circuit.half_opened': 'warn',
  'circuit.closed': 'good',
  gap: 'warn',
};
const typeNames: Readonly<Record<Happening['type'], string>> = {
  'tool.crashed': 'crashed',
  'tool.degraded': 'degraded',
  'tool.failed': 'cannot start',
  'tool.recovered': 'recovered',
  'health.changed': 'grade changed',
  'circuit.opened': 'circuit opened',
  'circuit.half_opened': 'circuit half-open',
  'circuit.closed': 'circuit closed',
  gap: 'gap',
};
const gradeTones: Readonly<Record<string, Tone>> = { healthy: 'good', degraded: 'warn', unhealthy: 'bad' };

const member = (data: object, name: string): string => {
  const value: unknown = Object.entries(data).find(([key]) => key === name)?.[1];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
};

const columns: readonly Column<Happening>[] = [
  { name: 'Time', width: 92, cell: ({ timestamp }) => <Time at={timestamp} /> },
  {
    name: 'Event',
    width: 150,
    cell: ({ type, data }) => (
      <span title={type}>
        <Badge state={typeNames[type]} tone={tones[type] ?? gradeTones[member(data, 'to')] ?? 'none'} />
      </span>
    ),
  },
  {
    ...{ name: 'Tool', cut: true, isMono: true, width: 180 },
    cell: ({ type, tool }) => {
      if (type === 'gap') return null;
      const to = type.startsWith('circuit') ? '/tools/$name/circuit' : '/tools/$name/health';
      return (
        <Link to={to} params={{ name: tool }}>
          {tool}
        </Link>
      );
    },
  },
  {
    name: 'What happened',
    cell: ({ type, message }) =>
      type === 'circuit.half_opened'
        ? `A few trial calls are allowed. It was opened because: ${message}`
        : message,
  },
  { name: 'By', cut: true, width: 124, cell: ({ data }) => member(data, 'by') },
];

/** Past and live events of tools. */
export function EventsPage(): ReactNode {
  const search = route.useSearch();
  const { query, happenings } = useEventLog();
  const change = useChange<Search>();
  const wanted = happenings.filter(isWanted(search)).toReversed();
  const newest = happenings.at(-1)?.timestamp ?? new Date().toISOString();
  const newer = happenings.filter(isWanted({ ...search, until: undefined })).length - wanted.length;
  return (
    <Page name="Events">
      <Stack>
        <FilterBar
          label="Events"
          search={search}
          text={{ key: 'tool', label: 'Search tools' }}
          filters={filters}
          range={search}
        >
          <Button
            aria-pressed={search.until !== undefined}
            onClick={() => change({ until: search.until === undefined ? newest : undefined })}
          >
            {search.until === undefined ? 'Pause' : `Follow${newer > 0 ? ` (${number(newer)} newer)` : ''}`}
          </Button>
          <Following count={wanted.length} isPaused={search.until !== undefined} />
        </FilterBar>
        <Panel>
          <Loaded query={query}>{() => <Events rows={wanted} isFiltered={happenings.length > 0} />}</Loaded>
        </Panel>
        <Muted>
          The latest 1,000 events since the start of the server that answered. Each replica reports the events
          of its own processes and circuits.
        </Muted>
      </Stack>
    </Page>
  );
}

const filters: readonly Filter[] = [{ key: 'type', label: 'Event', options: eventTypes, names: typeNames }];

const isWanted =
  ({ tool, type, since, until }: Search, start = sinceMoment(since)) =>
  (event: Happening): boolean =>
    (start === undefined || event.timestamp >= start) &&
    (until === undefined || event.timestamp <= until) &&
    // A gap passes all filters, because the missing events may belong to any tool.
    (event.type === 'gap' ||
      ((type === undefined || event.type === type) &&
        (tool === undefined || event.tool.toLowerCase().includes(tool.toLowerCase()))));

const connectionTexts: Readonly<Record<Connection, string>> = {
  live: 'following',
  connecting: 'connecting …',
  paused: 'paused while the page is hidden',
  lost: 'disconnected: new events appear when the server answers again',
  off: 'not following: your API key lacks the permission',
};

function Following({ count, isPaused }: { readonly count: number; readonly isPaused: boolean }): ReactNode {
  const connection = useConnection();
  return (
    <Row>
      <Muted>{counted(count, 'event')}</Muted>
      <span role="status">
        <Muted>{isPaused && connection === 'live' ? 'paused' : connectionTexts[connection]}</Muted>
      </span>
    </Row>
  );
}

interface EventsProps {
  readonly rows: readonly Happening[];
  readonly isFiltered: boolean;
}

function Events({ rows, isFiltered }: EventsProps): ReactNode {
  const [shown, setShown] = useState(pageSize);
  if (rows.length === 0) {
    return (
      <Empty title={isFiltered ? 'No events match these filters' : 'No events yet'}>
        {!isFiltered && (
          <p>No tool has crashed, changed its grade or opened its circuit since the server started.</p>
        )}
      </Empty>
    );
  }
  return (
    <>
      <Table label="Events" rows={rows.slice(0, shown)} columns={columns} keyOf={({ id }) => id} />
      {rows.length > shown && (
        <Button look="quiet" onClick={() => setShown(shown + pageSize)}>
          {`${number(Math.min(pageSize, rows.length - shown))} older ones`}
        </Button>
      )}
    </>
  );
}
