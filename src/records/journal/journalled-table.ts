import {
  type CallHandler,
  Inject,
  Logger,
  type NestInterceptor,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type Provider,
  type Type,
} from '@nestjs/common';
import { getToken, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';
import type { Observable } from 'rxjs';
import type { JournalListener, JournalNews, JournalState } from './journal.js';
import { IntervalLoop } from '../../base/common/interval-loop.js';
import { endsWithin } from '../../base/common/abortable.js';
import { DatabaseHealth, suspiciousMs } from '../../base/database/database-health.js';
import { counter } from '../../base/observability/metrics.js';
import { Replicas } from '../../base/database/replicas.js';

type NameAndText = readonly [name: string, text: string];

interface JournalOwner {
  state(): JournalState;
}

/** Names of a journal for operators: name and help of each metric, event and message of each log entry. */
export interface JournalNames {
  readonly owner: Type<JournalOwner>;
  readonly gauges: Readonly<Record<keyof typeof gaugeValues, NameAndText>>;
  readonly counters: Readonly<Partial<Record<JournalNews['event'], NameAndText>>>;
  readonly entries: Readonly<Record<keyof typeof levels, NameAndText>>;
  /** Log field with the id of a quarantined record. */
  readonly idField: string;
}

const gaugeValues = {
  depth: ({ depth }: JournalState) => depth,
  oldest: ({ oldestMs }: JournalState) => oldestMs / 1_000,
  bytes: ({ bytes }: JournalState) => bytes,
} as const;
const levels = {
  write_failed: 'error',
  drain_ended: 'error',
  left: 'warn',
  retrying: 'warn',
  damaged: 'error',
  quarantined: 'error',
  replayed: 'log',
} as const;

/** Providers of a journal's metrics, and of the listener that logs and counts its news under a token. */
export function journalReport(token: string, { owner, ...names }: JournalNames): Provider[] {
  const counters = Object.entries(names.counters);
  const gauge = (kind: keyof typeof gaugeValues): Provider => {
    const [name, help] = names.gauges[kind];
    const collect = function (this: Gauge, journal: JournalOwner) {
      this.set(gaugeValues[kind](journal.state()));
    };
    return makeGaugeProvider({ name, help, inject: [owner], collect });
  };
  const useFactory = (...made: Counter[]): JournalListener => {
    const logger = new Logger(owner.name);
    const countersByEvent = new Map(counters.map(([event], at) => [event, made[at]]));
    return (news) => {
      countersByEvent
        .get(news.event)
        ?.inc('lines' in news ? news.lines : 'records' in news ? news.records : 1);
      if (news.event === 'committed' || (news.event === 'replayed' && news.records === 0)) return;
      const [event, message] = names.entries[news.event];
      const fields = news.event === 'quarantined' ? { [names.idField]: news.id, reason: news.reason } : news;
      logger[levels[news.event]]({ ...fields, event }, message);
    };
  };
  return [
    gauge('depth'),
    gauge('oldest'),
    gauge('bytes'),
    ...counters.map(([, [name, help]]) => counter(name, help)),
    { provide: token, inject: counters.map(([, [name]]) => getToken(name)), useFactory },
  ];
}

/** Deletes a table's old rows at an interval. One elected replica does it, and begins right after its election. */
export abstract class TableRetention implements OnApplicationBootstrap, OnApplicationShutdown {
  protected readonly logger = new Logger(this.constructor.name);
  private readonly loop: IntervalLoop;
  @Inject(Replicas) private readonly replicas!: Replicas;

  constructor(everyMs: number, failed: string) {
    this.loop = new IntervalLoop(
      async () => this.run(this.replicas.keepsHouse),
      everyMs,
      (error) => this.logger.error(error, failed),
    );
  }

  /** @param deletes whether this replica deletes for all */
  abstract run(deletes: boolean): Promise<void>;

  onApplicationBootstrap(): void {
    this.loop.start(0);
    this.replicas.elected.subscribe(() => this.loop.hasten(0));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }
}

interface CatchesUp {
  catchUp(): Promise<void>;
}

/** An interceptor for routes that read a journalled table, so that they find all records before the request. */
export function upToDate(owner: Type<CatchesUp>): Type<NestInterceptor> {
  class UpToDateInterceptor implements NestInterceptor {
    constructor(
      @Inject(owner) private readonly journal: CatchesUp,
      private readonly database: DatabaseHealth,
    ) {}

    /** @throws DatabaseUnavailable at once if the database is known to be down */
    async intercept(_: unknown, next: CallHandler): Promise<Observable<unknown>> {
      this.database.assertAnswers();
      const caughtUp = this.journal.catchUp();
      while (!(await endsWithin(suspiciousMs, caughtUp))) {
        this.database.suspect();
        this.database.assertAnswers();
      }
      return next.handle();
    }
  }
  return UpToDateInterceptor;
}
