import { Injectable } from '@nestjs/common';
import type { EventRing, Placed } from './event-ring.js';

/** A topic that clients can follow together with others in one stream. */
export interface StreamTopic<Entry extends object = object> {
  /** The scope that a follower needs. */
  readonly scope: string;
  /** Number of earlier entries that a new follower gets. */
  readonly earlier: number;
  /** Whether the part after the colon of its name is a project; absent: the follower's own project. */
  readonly ofProject?: boolean;
  /** Whether it serves a console page, whose streams have their own limit. */
  readonly ofPage?: boolean;
  /** Name of the event with which an entry is sent. */
  eventName(entry: Placed<Entry>): string;
  /** The part of an entry that belongs to these projects (undefined: all), if any. Absent if entries belong to no project. */
  within?(entry: Placed<Entry>, projects: readonly string[] | undefined): object | undefined;
  /**
   * The ring of a topic.
   * @param of part after the colon of the topic's name, such as a tool; undefined without one
   * @param caller the follower's id
   * @throws Problem `not_found`, `invalid_request`
   */
  ring(of: string | undefined, caller: string): EventRing<Entry> | Promise<EventRing<Entry>>;
  /** Called when a client that follows the ring has disconnected. */
  onDisconnect?(ring: EventRing<Entry>): void;
}

/** The topics of the console's single event stream. Each module registers its own. */
@Injectable()
export class StreamTopics {
  private readonly topics = new Map<string, StreamTopic>();

  add(name: string, topic: StreamTopic): void {
    this.topics.set(name, topic);
  }

  find(name: string): StreamTopic | undefined {
    return this.topics.get(name);
  }

  names(): string[] {
    return [...this.topics.keys()].sort();
  }
}
