import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';

/** `live`: what happens is shown as it happens; `lost`: the server does not answer; `paused`: nobody looks. */
export type Connection = 'connecting' | 'live' | 'lost' | 'paused';

const Status = createContext<Connection>('connecting');
export const useConnection = (): Connection => useContext(Status);

const hiddenMs = 5 * 60_000;
const retryMs = 2_000;
const eventTypes = [
  ...['tool.crashed', 'tool.degraded', 'tool.failed', 'tool.recovered', 'health.changed'],
  ...['circuit.opened', 'circuit.half_opened', 'circuit.closed'],
];

/**
 * Follows the server's events by the one stream that a tab holds open: each makes what it is about be asked for anew.
 * A connection that comes back makes everything be asked for anew.
 */
export function Live({ children }: { readonly children: ReactNode }): ReactNode {
  const [status, setStatus] = useState<Connection>('connecting');
  const client = useQueryClient();
  useEffect(() => {
    const follow = new Follower(setStatus, (changed) => {
      const predicate = ({ queryKey }: { queryKey: readonly unknown[] }): boolean =>
        changed === 'everything'
          ? queryKey[0] !== 'session'
          : ['health', 'events'].includes(String(queryKey[0]));
      void client.invalidateQueries({ predicate });
    });
    return () => follow.end();
  }, [client]);
  return <Status value={status}>{children}</Status>;
}

class Follower {
  private source: EventSource | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private wasLost = false;

  constructor(
    private readonly tell: (status: Connection) => void,
    private readonly changed: (what: 'health' | 'everything') => void,
  ) {
    document.addEventListener('visibilitychange', this.look);
    this.open();
  }

  end(): void {
    document.removeEventListener('visibilitychange', this.look);
    this.close();
  }

  private open(): void {
    const source = new EventSource('/api/v1/events');
    this.source = source;
    source.onopen = () => {
      this.tell('live');
      if (this.wasLost) this.changed('everything');
      this.wasLost = false;
    };
    source.onerror = () => {
      this.wasLost = true;
      this.tell('lost');
      // An answer that is no stream ends it for good; a broken connection the browser mends itself.
      if (source.readyState === EventSource.CLOSED) this.timer = setTimeout(() => this.open(), retryMs);
    };
    for (const type of eventTypes) source.addEventListener(type, () => this.changed('health'));
    source.addEventListener('reset', () => this.changed('everything'));
  }

  private close(): void {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = undefined;
  }

  /** A tab that nobody looks at gives its connection back after a while. */
  private readonly look = (): void => {
    clearTimeout(this.timer);
    if (document.visibilityState === 'hidden') {
      this.timer = setTimeout(() => {
        this.close();
        this.wasLost = true;
        this.tell('paused');
      }, hiddenMs);
    } else if (!this.source || this.source.readyState === EventSource.CLOSED) this.open();
  };
}
