import type { StreamEvent } from './event-stream.js';

/**
 * `live`: what happens is shown as it happens; `lost`: the server does not answer; `paused`: nobody looks;
 * `off`: the caller may not follow what happens.
 */
export type Connection = 'connecting' | 'live' | 'lost' | 'paused' | 'off';

/** Receives one topic: its own events, and `missed`, `reset`, `closed` and `refused` about it. */
export type TopicListener = (event: StreamEvent) => void;

export interface StreamRequest {
  readonly topics: readonly string[];
  /** The place from which each topic goes on. */
  readonly lastEventId: string | undefined;
  readonly signal: AbortSignal;
}

interface StreamSettings {
  /** Opens the stream. @throws errors that `isRefusal` classifies */
  readonly open: (request: StreamRequest) => Promise<AsyncIterable<StreamEvent>>;
  /** Whether the server will answer the same question in the same way: it is not asked again. */
  readonly isRefusal: (error: unknown) => boolean;
  readonly tell: (status: Connection) => void;
}

const retryMs = { first: 500, longest: 10_000 };

/**
 * The one stream of a tab. Topics come and go with the screens; each change reopens it, from the place where every
 * topic was, and so does a connection that was lost.
 */
export class ServerStream {
  private readonly topics = new Map<string, Set<TopicListener>>();
  /** Id of the last event of each topic. */
  private readonly places = new Map<string, string>();
  private current: AbortController | undefined;
  private isPaused = false;
  private isChanging = false;

  constructor(private readonly settings: StreamSettings) {}

  /** @returns what ends it */
  follow(topic: string, listener: TopicListener): () => void {
    const listeners = this.topics.get(topic) ?? new Set();
    if (!this.topics.has(topic)) this.topicsChange();
    this.topics.set(topic, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.topics.get(topic) === listeners) this.leave(topic);
    };
  }

  pause(): void {
    this.isPaused = true;
    this.current?.abort();
    this.settings.tell('paused');
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.topicsChange();
  }

  private leave(topic: string): void {
    this.topics.delete(topic);
    // A follower that comes later begins with what it is sent, not where this one stopped.
    this.places.delete(topic);
    this.topicsChange();
  }

  /** A topic that a screen leaves and one that the next follows are one change. */
  private topicsChange(): void {
    if (this.isChanging) return;
    this.isChanging = true;
    queueMicrotask(() => {
      this.isChanging = false;
      this.current?.abort();
      if (this.isPaused) return;
      this.current = new AbortController();
      void this.run(this.current.signal);
    });
  }

  private async run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; this.topics.size > 0; failures += 1) {
      try {
        const lastEventId = [...this.places].map(([topic, id]) => `${topic}=${id}`).join(',') || undefined;
        const events = await this.settings.open({ topics: [...this.topics.keys()], lastEventId, signal });
        if (signal.aborted) return;
        this.settings.tell('live');
        failures = 0;
        for await (const event of events) this.hand(event);
      } catch (error) {
        if (!signal.aborted && this.settings.isRefusal(error)) {
          this.refuseNewest(error);
          continue;
        }
      }
      if (signal.aborted) return;
      this.settings.tell('lost');
      await pauseOf(Math.min(retryMs.longest, retryMs.first * 2 ** failures), signal);
      if (signal.aborted) return;
    }
    this.settings.tell('off');
  }

  private hand(event: StreamEvent): void {
    const topic = this.placesIn(event.id) ?? topicIn(event);
    if (event.data !== '') this.topics.get(topic ?? '')?.forEach((listener) => listener(event));
    if (event.event === 'closed' && topic !== undefined) {
      this.topics.delete(topic);
      this.places.delete(topic);
    }
  }

  /** An id contains the positions of all topics. @returns the topic whose position changed, which is the event's own */
  private placesIn(id: string | undefined): string | undefined {
    let moved: string | undefined;
    for (const pair of id?.split(',') ?? []) {
      const at = pair.lastIndexOf('=');
      const [topic, place] = [pair.slice(0, at), pair.slice(at + 1)];
      if (!this.topics.has(topic) || this.places.get(topic) === place) continue;
      this.places.set(topic, place);
      moved = topic;
    }
    return moved;
  }

  /** Topics that were followed before were not refused: the one that came last is. */
  private refuseNewest(error: unknown): void {
    const [topic, listeners] = [...this.topics].at(-1) ?? [];
    if (topic === undefined) return;
    this.topics.delete(topic);
    const data = error instanceof Error ? error.message : String(error);
    listeners?.forEach((listener) => listener({ event: 'refused', data }));
  }
}

/** A remark about a topic names it; it is not one of the topic's events. */
function topicIn({ data }: StreamEvent): string | undefined {
  if (data === '') return undefined;
  const { topic } = JSON.parse(data) as { topic?: string };
  return topic;
}

/** Ends early, without an error, if the signal aborts. */
export function pauseOf(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
