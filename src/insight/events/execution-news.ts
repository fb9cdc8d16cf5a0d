import { Injectable } from '@nestjs/common';
import { EventRing, type Placed } from '../../base/streams/event-ring.js';
import { StreamTopics } from '../../base/streams/stream-topics.js';
import { CallEvents, type ExecutedCall } from '../../web/contract/call-events.js';
import type { CallContext } from '../../web/contract/tool.js';

/** An ended execution: the fields by which lists filter, without its payload. */
interface EndedExecution
  extends
    Pick<ExecutedCall, 'tool' | 'status' | 'errorType'>,
    Pick<CallContext, 'userId' | 'investigationId' | 'runId' | 'sessionId' | 'requestId'> {
  readonly id: string;
  readonly project: string;
  readonly durationMs: number;
}

/** Executions that ended on this server within an announcement's interval. */
interface Batch {
  readonly ended: readonly EndedExecution[];
  /** Numbers of executions that are not listed in `ended`, by project. */
  readonly unlisted: ReadonlyMap<string, number>;
}

const announceEveryMs = 500;
/** Max executions that an announcement lists. */
const maxListed = 500;
/** Limits of the ring, from which pages resume after a lost connection. */
const ringLimits = { maxEntries: 20, maxBytes: 1_000_000 };

/** Announces ended executions to the pages that follow them, at most twice a second. Costs calls nothing without followers. */
@Injectable()
export class ExecutionNews {
  private readonly ring = new EventRing<Batch>(ringLimits);
  private waiting: EndedExecution[] = [];
  private unlisted = new Map<string, number>();
  private isSubscribed = false;

  constructor(
    topics: StreamTopics,
    private readonly calls: CallEvents,
  ) {
    topics.add('executions', {
      scope: 'metrics:read',
      earlier: 0,
      eventName: () => 'executions',
      within: batchOf,
      ring: () => {
        this.subscribe();
        return this.ring;
      },
    });
  }

  /** Subscribes to calls with the first page, so that calls have no listener before. */
  private subscribe(): void {
    if (this.isSubscribed) return;
    this.isSubscribed = true;
    this.calls.subscribe('executed', (event) => this.onExecuted(event));
  }

  /** Keeps an execution for the next announcement, if pages follow executions. */
  private onExecuted(event: ExecutedCall): void {
    if (!this.ring.news.hasListeners) return;
    if (this.waiting.length === 0) setTimeout(() => this.announce(), announceEveryMs).unref();
    const { projectId } = event.context;
    if (this.waiting.length < maxListed) this.waiting.push(endedExecution(event));
    else this.unlisted.set(projectId, (this.unlisted.get(projectId) ?? 0) + 1);
  }

  private announce(): void {
    this.ring.append({ ended: this.waiting, unlisted: this.unlisted });
    this.waiting = [];
    this.unlisted = new Map();
  }
}

/** A batch as pages of some projects get it; undefined if it has none of their executions. @param projects default: all */
function batchOf({ id, ended, unlisted }: Placed<Batch>, projects?: readonly string[]): object | undefined {
  const isShown = (project: string): boolean => projects?.includes(project) ?? true;
  const shown = ended.filter(({ project }) => isShown(project));
  let more = 0;
  for (const [project, count] of unlisted) if (isShown(project)) more += count;
  return shown.length > 0 || more > 0 ? { id, ended: shown, more } : undefined;
}

const endedExecution = ({ context, ...event }: ExecutedCall): EndedExecution => {
  const { executionId: id, tool, status, errorType, executionTimeMs: durationMs } = event;
  const { userId, investigationId, runId, sessionId, requestId } = context;
  const caller = { userId, investigationId, runId, sessionId, requestId };
  return { id, project: context.projectId, tool, status, errorType, durationMs, ...caller };
};
