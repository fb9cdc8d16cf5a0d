import { Module, type OnModuleInit } from '@nestjs/common';
import type { CircuitKind } from '../../base/outbound/breaker/circuit-state.js';
import { StreamTopics } from '../../base/streams/stream-topics.js';
import { type ToolEvent, ToolEvents, type ToolEventType } from '../../base/streams/tool-events.js';
import { CircuitEvents } from '../../call/circuits/circuit-transitions.repository.js';
import { StoredGrades } from '../tool-health/grade-history.js';
import { ToolHealthModule } from '../tool-health/tool-health.module.js';
import type { Placed } from '../../base/streams/event-ring.js';
import { EventHistory } from './event-history.js';
import { EventsController, TopicStreamController } from './events.controller.js';
import { EventsService } from './events.service.js';
import { ExecutionNews } from './execution-news.js';
import { TopicStreamService } from './topic-stream.service.js';

/** Types of events by the new state of a circuit. */
const circuitTypes: Readonly<Record<CircuitKind, ToolEventType>> = {
  open: 'circuit.opened',
  half_open: 'circuit.half_opened',
  closed: 'circuit.closed',
};

/** Events of tools: over REST, as live streams and to webhooks. */
@Module({
  imports: [ToolHealthModule],
  controllers: [EventsController, TopicStreamController],
  providers: [EventHistory, EventsService, ExecutionNews, TopicStreamService],
})
export class EventsModule implements OnModuleInit {
  constructor(
    private readonly events: ToolEvents,
    private readonly circuits: CircuitEvents,
    private readonly grades: StoredGrades,
    topics: StreamTopics,
    history: EventHistory,
  ) {
    topics.add('events', {
      scope: 'metrics:read',
      earlier: 0,
      eventName: ({ type }: Placed<ToolEvent>) => type,
      ring: () => history.ring,
    });
  }

  /** Publishes changes of circuits and grades as events of tools. */
  onModuleInit(): void {
    this.circuits.subscribe(({ id: key, tool, from, to, reason, by, at }) =>
      this.events.publish({ key, type: circuitTypes[to], tool, message: reason, data: { from, to, by } }, at),
    );
    this.grades.subscribe(({ tool, from, to, why, at }) =>
      this.events.publish({ type: 'health.changed', tool, message: why, data: { from, to } }, at),
    );
  }
}
