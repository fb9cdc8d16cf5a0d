import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { ask, type EventView, getEvents } from '../../lib/api.js';
import type { StreamEvent } from '../../lib/event-stream.js';
import { counted, exactTime, number } from '../../lib/format.js';
import { useConnection, useTopic } from '../../lib/live.js';
import { emptyRing, type LogRing, withLines } from '../../lib/log-ring.js';
import { type eventsSearch, eventTypes } from '../../lib/searches.js';
import { isInRange } from '../../lib/time-range.js';
import { useChange } from '../../lib/use-change.js';
import { Badge, Button, type Tone, toneOf } from '../../ui/controls.js';
import { type Filter, FilterBar } from '../../ui/filters.js';
import { Muted, Page, Panel, Row, Stack } from '../../ui/layout.js';
import { LongTable } from '../../ui/long-table.js';
import { Empty, Loaded } from '../../ui/states.js';
import type { Column } from '../../ui/table.js';
import { Time } from '../../ui/time.js';

const route = getRouteApi('/shell/events');

type Search = ReturnType<typeof eventsSearch>;

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
        <Badge state={typeNames[type]} tone={tones[type] ?? toneOf(member(data, 'to'))} />
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
    ...{ name: 'What happened', cut: true },
    cell: (event) => <span title={textOf(event)}>{textOf(event)}</span>,
  },
  { name: 'By', cut: true, width: 124, cell: ({ data }) => member(data, 'by') },
];

function textOf({ type, message, data }: Happening): string {
  if (type === 'health.changed') return `${member(data, 'from')} → ${member(data, 'to')}: ${message}`;
  return type === 'circuit.half_opened'
    ? `A few calls are let through as probes. It was opened because: ${message}`
    : message;
}

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
          The newest stored events of all replicas
          {happenings[0] && `, since ${exactTime(happenings[0].timestamp)}`}.
        </Muted>
      </Stack>
    </Page>
  );
}

const filters: readonly Filter[] = [{ key: 'type', label: 'Event', options: eventTypes, names: typeNames }];

const isWanted =
  ({ tool, type, ...range }: Search) =>
  (event: Happening): boolean =>
    isInRange(range, event.timestamp) &&
    // A gap passes all filters, because the missing events may belong to any tool.
    (event.type === 'gap' ||
      ((type === undefined || event.type === type) &&
        (tool === undefined || event.tool.toLowerCase().includes(tool.toLowerCase()))));

function Following({ count, isPaused }: { readonly count: number; readonly isPaused: boolean }): ReactNode {
  const connection = useConnection();
  return (
    <Row>
      <Muted>{counted(count, 'event')}</Muted>
      <span role="status">
        <Muted>{connection !== 'live' ? 'not connected' : isPaused ? 'paused' : 'following'}</Muted>
      </span>
    </Row>
  );
}

interface EventsProps {
  readonly rows: readonly Happening[];
  readonly isFiltered: boolean;
}

const keyOf = ({ id }: Happening): string => id;

const Events = ({ rows, isFiltered }: EventsProps): ReactNode =>
  rows.length === 0 ? (
    <Empty title={isFiltered ? 'No events match these filters' : 'No events yet'}>
      {!isFiltered && <p>No tool has crashed, changed its grade or opened its circuit.</p>}
    </Empty>
  ) : (
    <LongTable label="Events" {...{ rows, columns, keyOf }} hasMore={false} onNearEnd={undefined} />
  );

/** An event of a tool, or a gap in the list of events. */
type Happening = Omit<EventView, 'type'> & { readonly type: EventView['type'] | 'gap' };

/** Number of events that the server stores. */
const most = 1_000;
/** Twice the server's number, because all of its events are appended after a gap. */
const maxEvents = 2 * most;

interface EventLog {
  readonly query: UseQueryResult<readonly EventView[]>;
  /** Oldest first. */
  readonly happenings: readonly Happening[];
}

/** The events that the server has stored, and then each as the stream of the tab brings it. */
function useEventLog(): EventLog {
  const query = useQuery({
    // A name of its own: live updates refetch all queries that begin with `events`, and here the stream brings them.
    queryKey: ['happenings'],
    queryFn: async ({ signal }) => (await ask(getEvents({ query: { limit: most }, signal }))).data,
  });
  const [live, setLive] = useState<LogRing<Happening>>(emptyRing);
  useTopic('events', (event) => setLive((old) => withLines(old, [happeningIn(event)], maxEvents)));
  const happenings = useMemo(() => inOrder([...(query.data ?? []), ...live.lines]), [query.data, live]);
  return { query, happenings };
}

/** Each once: an event may stand in the answer and come by the stream as well. */
function inOrder(happenings: readonly Happening[]): Happening[] {
  const byId = new Map(happenings.map((each) => [each.id, each]));
  const sorted = [...byId.values()].sort((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp));
  return sorted.slice(-most);
}

function happeningIn({ event, data }: StreamEvent): Happening {
  const remark = remarks[event];
  if (!remark) return JSON.parse(data) as EventView;
  const timestamp = new Date().toISOString();
  return { id: `${event} ${timestamp}`, type: 'gap', tool: '', timestamp, message: remark(data), data: {} };
}

const remarks: Readonly<Record<string, (data: string) => string>> = {
  missed: (data) =>
    `${counted((JSON.parse(data) as { entries: number }).entries, 'event')} were dropped before this page received them`,
  reset: () => 'The server restarted, or another replica answers: some events may be missing',
  refused: (why) => `Events cannot be followed: ${why}`,
};
