import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import {
  holderIn,
  principalOf,
  projectFor,
  projectOf,
  projectsOf,
} from '../../web/auth/principal.decorator.js';
import { callerIdOf, type Reader } from '../../web/contract/principal.js';
import type { EventRing } from '../../base/streams/event-ring.js';
import { invalidRequest, Problem } from '../../base/common/errors.js';
import { type Following, sseEvent, sseHeaders } from '../../base/streams/sse.js';
import { type StreamTopic, StreamTopics } from '../../base/streams/stream-topics.js';
import { OpenStreams, pageStreams } from '../../base/streams/open-streams.js';
import type { TopicsQuery } from './events.dto.js';

/** A topic that a client follows, under the name by which the request asked for it: `logs:disk_usage`. */
interface Followed extends Reader {
  readonly name: string;
  readonly topic: StreamTopic;
  readonly ring: EventRing<object>;
}

/** Streams several topics at once, because a browser opens only six connections to a host for all its tabs. */
@Injectable()
export class TopicStreamService {
  constructor(
    private readonly topics: StreamTopics,
    private readonly streams: OpenStreams,
  ) {}

  /** @throws Problem `invalid_request`, `not_found`, `forbidden`, `rate_limited`, `shutting_down` */
  async follow({ topics }: TopicsQuery, request: FastifyRequest, reply: FastifyReply): Promise<Readable> {
    const followed = await Promise.all(topics.map((name) => this.open(name, request)));
    void reply.headers(sseHeaders);
    // A HEAD request gets no stream.
    if (request.method !== 'GET') return Readable.from([]);
    const lastSeen = placesIn(request.headers['last-event-id']);
    const places = new Map(followed.map((each) => [each.name, placeOf(each, lastSeen.get(each.name))]));
    const followings = followed.map((each) => streamOf(each, places));
    const what = followed.some(({ topic }) => topic.ofPage) ? pageStreams : 'streams of events';
    const greeting = greetingOf(followed, lastSeen, places);
    const stream = this.streams.follow(what, holderIn(request), followings, greeting);
    stream.once('close', () => followed.forEach(({ topic, ring }) => topic.onDisconnect?.(ring)));
    return stream;
  }

  /** Opens a topic for a client. @throws Problem `invalid_request`, `not_found`, `forbidden` */
  private async open(name: string, request: FastifyRequest): Promise<Followed> {
    const [, kind = '', subject] = /^([^:]*)(?::(.*))?$/s.exec(name) ?? [];
    const topic = this.topics.find(kind);
    if (!topic) {
      const known = this.topics.names().join(', ');
      throw invalidRequest({ pointer: '/topics', detail: `must be one of ${known}: there is no ${name}` });
    }
    const principal = principalOf(request);
    const scopes: ReadonlySet<string> = principal.scopes;
    if (!scopes.has(topic.scope))
      throw new Problem('forbidden', `The topic ${name} needs the scope ${topic.scope}.`);
    const ringName = topic.ofProject ? projectIn(request, subject) : subject;
    const ring = await topic.ring(ringName, callerIdOf(principal));
    return { name, topic, ring, projects: topic.within && projectsOf(request) };
  }
}

/** The named project, else the request's. @throws Problem `forbidden` for a project outside the key's */
const projectIn = (request: FastifyRequest, named: string | undefined): string =>
  named === undefined ? projectOf(request) : projectFor(principalOf(request), named);

/** The id of the entry after which a client resumes or begins. */
function placeOf({ topic, ring }: Followed, lastSeen: string | undefined): string {
  const place = lastSeen === undefined ? Math.max(0, ring.end - topic.earlier) : ring.placeAfter(lastSeen);
  return ring.idBefore(place);
}

/** One topic's part of the stream. @param places positions in all topics; each event's id has them, so that a client can resume all */
function streamOf({ name, topic, ring, projects }: Followed, places: Map<string, string>): Following<object> {
  return {
    ring,
    place: ring.placeAfter(places.get(name) ?? ''),
    eventOf: (entry) => {
      places.set(name, entry.id);
      const data = topic.within ? topic.within(entry, projects) : entry;
      return data && { id: textOf(places), event: topic.eventName(entry), data };
    },
    missedEvent: (entries) => ({ event: 'missed', data: { topic: name, entries } }),
    closedEvent: { event: 'closed', data: { topic: name } },
  };
}

/** The client's position before the first event, and a `reset` for each topic that cannot be resumed. */
function greetingOf(
  followed: readonly Followed[],
  lastSeen: ReadonlyMap<string, string>,
  places: ReadonlyMap<string, string>,
): string {
  const resets = followed.flatMap(({ name, ring }) => {
    const id = lastSeen.get(name);
    if (id === undefined || ring.knows(id)) return [];
    return [sseEvent({ event: 'reset', data: { topic: name, reason: 'unknown_id', id } })];
  });
  return `id: ${textOf(places)}\n\n${resets.join('')}`;
}

/** Positions in all topics, as the id of an event. */
const textOf = (places: ReadonlyMap<string, string>): string =>
  [...places].map(([name, id]) => `${name}=${id}`).join(',');

/** Positions by topic in a `last-event-id`. A topic without one starts anew. */
function placesIn(header: string | string[] | undefined): Map<string, string> {
  const parts = typeof header === 'string' ? header.split(',') : [];
  const pairs = parts.flatMap((part) => {
    const [, name, id] = /^(.+)=([a-z0-9-]+)$/.exec(part) ?? [];
    return name !== undefined && id !== undefined ? [[name, id] as const] : [];
  });
  return new Map(pairs);
}
