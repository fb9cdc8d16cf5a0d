import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { ask, type EventView, getEvents } from '../../lib/api.js';
import type { StreamEvent } from '../../lib/event-stream.js';
import { counted } from '../../lib/format.js';
import { useTopic } from '../../lib/live.js';
import { emptyRing, type LogRing, withLines } from '../../lib/log-ring.js';

/** An event of a tool, or a gap in the list of events. */
export type Happening = Omit<EventView, 'type'> & { readonly type: EventView['type'] | 'gap' };

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
export function useEventLog(): EventLog {
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
    `${counted((JSON.parse(data) as { entries: number }).entries, 'event')} had to make room before they were read here`,
  reset: () => 'The server restarted, or another one answers: events in between may be missing here',
  refused: (why) => `Events cannot be followed: ${why}`,
};
