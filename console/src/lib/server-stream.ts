import type { StreamEvent } from './event-stream.js';

/**
 * `live`: events arrive as they happen; `lost`: the server does not answer; `paused`: the tab is hidden; `off`: the caller
 * may follow no topic.
 */
export type Connection = 'connecting' | 'live' | 'lost' | 'paused' | 'off';

/** Receives one topic: its own events, and `missed`, `reset`, `closed` and `refused` about it. */
export type TopicListener = (event: StreamEvent) => void;

export interface StreamRequest {
  readonly topics: readonly string[];
  /** The last event that was received of each topic. */
  readonly lastEventId: string | undefined;
  readonly signal: AbortSignal;
}

interface StreamSettings {
  /** Opens the stream. @throws errors that `isRefusal` classifies */
  readonly open: (request: StreamRequest) => Promise<AsyncIterable<StreamEvent>>;
  /** Whether the server refused the request, so that it is not repeated. */
  readonly isRefusal: (error: unknown) => boolean;
  readonly onStatus: (status: Connection) => void;
}

const retryMs = { first: 500, longest: 10_000 };

/**
 * The one stream of a tab. Screens add and remove topics. After each change, and after a lost connection, the stream is opened
 * again from the last event of each topic.
 */
export class ServerStream {
  private readonly topics = new Map<string, Set<TopicListener>>();
  /** Id of the last event of each topic. */
  private readonly lastIds = new Map<string, string>();
  private current: AbortController | undefined;
  private isPaused = false;
  private isScheduled = false;

  constructor(private readonly settings: StreamSettings) {}

  /** Subscribes to a topic. @returns a function that ends the subscription */
  follow(topic: string, listener: TopicListener): () => void {
    const listeners = this.topics.get(topic) ?? new Set();
    if (!this.topics.has(topic)) this.scheduleReopen();
    this.topics.set(topic, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.topics.get(topic) === listeners) this.leave(topic);
    };
  }

  pause(): void {
    this.isPaused = true;
    this.current?.abort();
    this.settings.onStatus('paused');
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.scheduleReopen();
  }

  private leave(topic: string): void {
    this.topics.delete(topic);
    // A later subscription starts anew, not after the last event of this one.
    this.lastIds.delete(topic);
    this.scheduleReopen();
  }

  /** Reopens the stream once for all changes of a task, such as those of leaving a screen for another. */
  private scheduleReopen(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    queueMicrotask(() => {
      this.isScheduled = false;
      this.current?.abort();
      if (this.isPaused) return;
      this.current = new AbortController();
      void this.run(this.current.signal);
    });
  }

  private async run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; this.topics.size > 0; failures += 1) {
      try {
        const lastEventId = [...this.lastIds].map(([topic, id]) => `${topic}=${id}`).join(',') || undefined;
        const events = await this.settings.open({ topics: [...this.topics.keys()], lastEventId, signal });
        if (signal.aborted) return;
        this.settings.onStatus('live');
        failures = 0;
        for await (const event of events) this.dispatch(event);
      } catch (error) {
        if (!signal.aborted && this.settings.isRefusal(error)) {
          this.refuseNewest(error);
          continue;
        }
      }
      if (signal.aborted) return;
      this.settings.onStatus('lost');
      await pauseOf(Math.min(retryMs.longest, retryMs.first * 2 ** failures), signal);
      if (signal.aborted) return;
    }
    this.settings.onStatus('off');
  }

  private dispatch(event: StreamEvent): void {
    const topic = this.takeIds(event.id) ?? topicIn(event);
    if (event.data !== '') this.topics.get(topic ?? '')?.forEach((listener) => listener(event));
    if (event.event === 'closed' && topic !== undefined) {
      this.topics.delete(topic);
      this.lastIds.delete(topic);
    }
  }

  /** Notes the positions of all topics in an id. @returns the topic whose position changed, which is the event's own */
  private takeIds(id: string | undefined): string | undefined {
    let moved: string | undefined;
    for (const pair of id?.split(',') ?? []) {
      const at = pair.lastIndexOf('=');
      const topic = pair.slice(0, at);
      const position = pair.slice(at + 1);
      if (!this.topics.has(topic) || this.lastIds.get(topic) === position) continue;
      this.lastIds.set(topic, position);
      moved = topic;
    }
    return moved;
  }

  /** Ends the newest topic, because the server accepted all earlier ones. */
  private refuseNewest(error: unknown): void {
    const [topic, listeners] = [...this.topics].at(-1) ?? [];
    if (topic === undefined) return;
    this.topics.delete(topic);
    const data = error instanceof Error ? error.message : String(error);
    listeners?.forEach((listener) => listener({ event: 'refused', data }));
  }
}

/** The topic that a message about a topic names. */
function topicIn({ data }: StreamEvent): string | undefined {
  if (data === '') return undefined;
  const { topic } = JSON.parse(data) as { topic?: string };
  return topic;
}

/** Waits. Ends early, without an error, if the signal aborts. */
export function pauseOf(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
