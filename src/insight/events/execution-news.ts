import { Injectable } from '@nestjs/common';
import { EventRing, type Placed } from '../../base/streams/event-ring.js';
import { StreamTopics } from '../../base/streams/stream-topics.js';
import { CallEvents, type ExecutedCall } from '../../web/contract/call-events.js';
import type { CallContext } from '../../web/contract/tool.js';

/** An ended execution: the fields that lists filter by, without its payload. */
interface Announced
  extends
    Pick<ExecutedCall, 'tool' | 'status' | 'errorType'>,
    Pick<CallContext, 'userId' | 'investigationId' | 'runId' | 'sessionId' | 'requestId'> {
  readonly id: string;
  readonly project: string;
  readonly durationMs: number;
}

/** Executions that ended on this server within half a second. */
interface Batch {
  readonly ended: readonly Announced[];
  /** Number of executions that are not listed. */
  readonly more: number;
}

const everyMs = 500;
const maxListed = 500;
const limits = { maxEntries: 20, maxBytes: 1_000_000 };

/** Announces ended executions to the pages that follow them, at most twice a second. Costs calls nothing without followers. */
@Injectable()
export class ExecutionNews {
  private readonly ring = new EventRing<Batch>(limits);
  private waiting: Announced[] = [];
  private more = 0;

  private stop: (() => void) | undefined;

  constructor(topics: StreamTopics, calls: CallEvents) {
    topics.add('executions', {
      scope: 'metrics:read',
      earlier: 0,
      eventName: () => 'executions',
      within: ({ id, ended, more }: Placed<Batch>, projects) => {
        if (!projects) return { id, ended, more };
        const own = ended.filter(({ project }) => projects.includes(project));
        return own.length > 0 ? { id, ended: own, more: Math.min(more, 1) } : undefined;
      },
      ring: () => {
        // Subscribes with the first page, so that calls have no listener before.
        this.stop ??= calls.subscribe('executed', (event) => this.came(event));
        return this.ring;
      },
    });
  }

  private came(event: ExecutedCall): void {
    if (!this.ring.news.hasListeners) return;
    if (this.waiting.length === 0) setTimeout(() => this.announce(), everyMs).unref();
    if (this.waiting.length < maxListed) this.waiting.push(announced(event));
    else this.more += 1;
  }

  private announce(): void {
    this.ring.append({ ended: this.waiting, more: this.more });
    this.waiting = [];
    this.more = 0;
  }
}

const announced = ({ context, ...event }: ExecutedCall): Announced => {
  const { executionId: id, tool, status, errorType, executionTimeMs: durationMs } = event;
  const { userId, investigationId, runId, sessionId, requestId } = context;
  const caller = { userId, investigationId, runId, sessionId, requestId };
  return { id, project: context.projectId, tool, status, errorType, durationMs, ...caller };
};
