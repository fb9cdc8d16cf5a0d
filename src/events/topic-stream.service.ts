import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { principalOf } from '../auth/principal.decorator.js';
import type { EventRing } from '../common/event-ring.js';
import { invalidRequest, Problem } from '../common/errors.js';
import { sseEvent, sseHeaders } from '../common/sse.js';
import type { Following } from '../common/sse-stream.js';
import { type StreamTopic, StreamTopics } from '../common/stream-topics.js';
import { EventStreams } from './event-streams.js';
import type { TopicsQuery } from './topic-stream.shapes.js';

/** A topic that a client follows, by the name that it gave. */
interface Followed {
  readonly name: string;
  readonly topic: StreamTopic;
  readonly ring: EventRing<object>;
}

/** Several things in one stream: a browser opens six connections to a host, over all its tabs. */
@Injectable()
export class TopicStreamService {
  constructor(
    private readonly topics: StreamTopics,
    private readonly streams: EventStreams,
  ) {}

  /** @throws Problem `invalid_request`, `not_found`, `forbidden`, `rate_limited`, `shutting_down` */
  async follow({ topics }: TopicsQuery, request: FastifyRequest, reply: FastifyReply): Promise<Readable> {
    const followed = await Promise.all(topics.map((name) => this.open(name, request)));
    const lastSeen = placesIn(request.headers['last-event-id']);
    const stream = this.streams.followAll(followingsOf(followed, lastSeen), greetingOf(followed, lastSeen));
    void reply.headers(sseHeaders);
    return stream;
  }

  private async open(name: string, request: FastifyRequest): Promise<Followed> {
    const [, kind = '', of] = /^([^:]*)(?::(.*))?$/s.exec(name) ?? [];
    const topic = this.topics.find(kind);
    if (!topic) {
      const known = this.topics.names().join(', ');
      throw invalidRequest({ pointer: '/topics', detail: `must be of ${known}: there is no ${name}` });
    }
    const held: ReadonlySet<string> = principalOf(request).scopes;
    if (!held.has(topic.scope))
      throw new Problem('forbidden', `The topic ${name} needs the scope ${topic.scope}.`);
    return { name, topic, ring: await topic.ring(of) };
  }
}

/** Each event's id tells the place in every topic: with it a client goes on in all of them. */
function followingsOf(
  followed: readonly Followed[],
  lastSeen: ReadonlyMap<string, string>,
): Following<object>[] {
  const places = new Map(lastSeen);
  return followed.map(({ name, topic, ring }) => {
    const id = lastSeen.get(name);
    return {
      ring,
      place: id === undefined ? Math.max(0, ring.end - topic.earlier) : ring.placeAfter(id),
      eventOf: (entry) => {
        places.set(name, entry.id);
        return { id: textOf(places), event: topic.eventName(entry), data: entry };
      },
      missedEvent: (entries) => ({ event: 'missed', data: { topic: name, entries } }),
      closedEvent: { event: 'closed', data: { topic: name } },
    };
  });
}

/** Topics that a client cannot go on with where it was. */
function greetingOf(
  followed: readonly Followed[],
  lastSeen: ReadonlyMap<string, string>,
): string | undefined {
  const resets = followed.flatMap(({ name, ring }) => {
    const id = lastSeen.get(name);
    if (id === undefined || ring.knows(id)) return [];
    return [sseEvent({ event: 'reset', data: { topic: name, reason: 'unknown_id', id } })];
  });
  return resets.length > 0 ? resets.join('') : undefined;
}

const textOf = (places: ReadonlyMap<string, string>): string =>
  [...places].map(([name, id]) => `${name}=${id}`).join(',');

/** What a client does not know any more it begins anew. */
function placesIn(header: string | string[] | undefined): Map<string, string> {
  const parts = typeof header === 'string' ? header.split(',') : [];
  const pairs = parts.flatMap((part) => {
    const [, name, id] = /^(.+)=([a-z0-9-]+)$/.exec(part) ?? [];
    return name !== undefined && id !== undefined ? [[name, id] as const] : [];
  });
  return new Map(pairs);
}
