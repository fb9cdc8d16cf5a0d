import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useEffectEvent, useState } from 'react';
import { ApiError } from './api.js';
import { openStream } from './calls.js';
import { gathered } from './gathered.js';
import { useProject } from './project.js';
import { type Connection, ServerStream, type StreamRequest, type TopicListener } from './server-stream.js';
import { useSession } from './session.js';

const Status = createContext<Connection>('connecting');
export const useConnection = (): Connection => useContext(Status);

const Stream = createContext<ServerStream | undefined>(undefined);

/** Time after which a hidden tab closes its connection. */
const hiddenMs = 5 * 60_000;

/** Delay after the first event of a burst before queries are fetched again. */
const burstMs = 500;

/**
 * Holds the one stream of the tab. The server's events invalidate the queries of their subjects; a reconnect invalidates all
 * queries.
 */
export function Live({ children }: { readonly children: ReactNode }): ReactNode {
  const [status, setStatus] = useState<Connection>('connecting');
  const [stream, setStream] = useState<ServerStream>();
  const client = useQueryClient();
  // Another caller may follow other topics, so each session has its own stream.
  const session = useSession();
  useEffect(() => {
    let wasAway = false;
    const onNews = gathered(
      () => client.invalidateQueries({ predicate: ({ queryKey: [subject] }) => eventSubjects.has(subject) }),
      burstMs,
    );
    const refetchAll = (): void =>
      void client.invalidateQueries({ predicate: ({ queryKey: [subject] }) => subject !== 'session' });
    const made = new ServerStream({
      open,
      isRefusal: (error) => error instanceof ApiError && error.status >= 400 && error.status < 429,
      onStatus: (now) => {
        setStatus(now);
        if (now === 'live' && wasAway) refetchAll();
        wasAway = now !== 'live';
      },
    });
    setStream(made);
    made.follow('events', ({ event }) => (event === 'reset' || event === 'missed' ? refetchAll() : onNews()));
    const stopWatching = pauseWhileHidden(made);
    return () => {
      stopWatching();
      made.pause();
    };
  }, [client, session]);
  return (
    <Stream value={stream}>
      <Status value={status}>{children}</Status>
    </Stream>
  );
}

/** Prefixes of the query keys that an event invalidates. */
const eventSubjects: ReadonlySet<unknown> = new Set(['health', 'events', 'tools']);

/** Subscribes to a topic of the tab's stream, such as `logs:disk_usage`, while the screen is there; undefined: to none. */
export function useTopic(topic: string | undefined, listener: TopicListener): void {
  const stream = useContext(Stream);
  const onEvent = useEffectEvent(listener);
  const named = useProject();
  const { projects } = useSession();
  const project = named ?? (projects === null ? '*' : projects[0]);
  // Spans are announced for each project.
  const name = topic === 'spans' && project !== undefined ? `spans:${project}` : topic;
  useEffect(
    () => (name === undefined ? undefined : stream?.follow(name, (event) => onEvent(event))),
    [stream, name],
  );
}

const open = ({ topics, lastEventId, signal }: StreamRequest) =>
  openStream(
    {
      method: 'GET',
      url: `/api/v1/console/stream?topics=${topics.map(encodeURIComponent).join(',')}`,
      ...(lastEventId !== undefined && { headers: { 'last-event-id': lastEventId } }),
    },
    signal,
  );

function pauseWhileHidden(stream: ServerStream): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    clearTimeout(timer);
    if (document.visibilityState === 'hidden') timer = setTimeout(() => stream.pause(), hiddenMs);
    else stream.resume();
  };
  document.addEventListener('visibilitychange', look);
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
  };
}
