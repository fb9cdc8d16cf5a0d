import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { holderIn } from '../../web/auth/principal.decorator.js';
import type { Placed } from '../../base/streams/event-ring.js';
import { OpenStreams } from '../../base/streams/open-streams.js';
import { acceptsEvents, lastSeenId, sseEvent, sseHeaders } from '../../base/streams/sse.js';
import type { ToolEvent } from '../../base/streams/tool-events.js';
import { EventHistory } from './event-history.js';
import type { EventPageView, EventsQuery } from './events.dto.js';

/** Reads events of tools: a page, or a live stream. */
@Injectable()
export class EventsService {
  constructor(
    private readonly history: EventHistory,
    private readonly streams: OpenStreams,
  ) {}

  /** A page of events, or a stream. @throws Problem `rate_limited` if too many clients follow events, `shutting_down` */
  read(query: EventsQuery, request: FastifyRequest, reply: FastifyReply): EventPageView | Readable {
    if (request.method !== 'GET' || !acceptsEvents(request.headers)) return this.page(query);
    const stream = this.follow(query, lastSeenId(request.headers, query.since), holderIn(request));
    void reply.headers(sseHeaders);
    return stream;
  }

  private page({ limit, since, ...filter }: EventsQuery): EventPageView {
    const { ring } = this.history;
    const { entries, last, missed } = ring.slice(Infinity, since);
    const wanted = entries.filter(isWantedBy(filter));
    const data = since === undefined ? wanted.slice(-limit) : wanted.slice(0, limit);
    // If no wanted event is left for the next page, it begins after all events, so that filtered ones are not read again.
    const isLastPage = since === undefined || wanted.length <= limit;
    const reset = since !== undefined && !ring.knows(since);
    return { data, nextSince: (isLastPage ? last : data.at(-1)?.id) ?? null, missed, reset };
  }

  /** Streams events: after the client's last id, or from now on for a new client. */
  private follow(filter: EventsQuery, id: string | undefined, holder: string): Readable {
    const { ring } = this.history;
    const isWanted = isWantedBy(filter);
    const eventOf = (event: Placed<ToolEvent>) =>
      isWanted(event) ? { id: event.id, event: event.type, data: event } : undefined;
    const place = id === undefined ? ring.end : ring.placeAfter(id);
    const reset = { event: 'reset', data: { reason: 'unknown_id', id } };
    const isKnown = id === undefined || ring.knows(id);
    const greeting = isKnown ? undefined : sseEvent(reset);
    return this.streams.follow('streams of events', holder, { ring, place, eventOf }, greeting);
  }
}

/** A test for the events that a filter selects. */
function isWantedBy({ tool, type }: Pick<EventsQuery, 'tool' | 'type'>): (event: ToolEvent) => boolean {
  return (event) =>
    (tool === undefined || tool.includes(event.tool)) && (type === undefined || type.includes(event.type));
}
