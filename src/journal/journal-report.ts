import { Logger, type Provider, type Type } from '@nestjs/common';
import { getToken, makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';
import type { JournalNews, JournalState } from './journal.js';

type JournalEvent = JournalNews['event'];
type NameAndText = readonly [name: string, text: string];

/** The names under which operators know a journal in logs and metrics. */
export interface JournalNames<Owner> {
  readonly owner: Type<Owner>;
  readonly stateOf: (owner: Owner) => JournalState;
  /** Name and help of each metric. */
  readonly gauges: Readonly<Record<'depth' | 'oldest' | 'bytes', NameAndText>>;
  readonly counters: Readonly<Partial<Record<JournalEvent, NameAndText>>>;
  /** Event and message of each log entry. */
  readonly entries: Readonly<Record<keyof typeof levels, NameAndText>>;
  /** Log field with the id of a quarantined record. */
  readonly idField: string;
}

const levels = {
  write_failed: 'error',
  drain_ended: 'error',
  left: 'warn',
  retrying: 'warn',
  damaged: 'error',
  quarantined: 'error',
  replayed: 'log',
} as const;

/** Logs and counts the news of a journal. */
export type JournalReport = (news: JournalNews) => void;

/** A journal's metrics, and its JournalReport under a token. */
export function journalReport<Owner>(token: string, names: JournalNames<Owner>): Provider[] {
  const { owner, stateOf, gauges } = names;
  const gauge = ([name, help]: NameAndText, valueOf: (state: JournalState) => number): Provider =>
    makeGaugeProvider({
      name,
      help,
      inject: [owner],
      collect(this: Gauge, journal: Owner) {
        this.set(valueOf(stateOf(journal)));
      },
    });
  const counters = Object.entries(names.counters);
  return [
    gauge(gauges.depth, ({ depth }) => depth),
    gauge(gauges.oldest, ({ oldestMs }) => oldestMs / 1_000),
    gauge(gauges.bytes, ({ bytes }) => bytes),
    ...counters.map(([, [name, help]]) => makeCounterProvider({ name, help })),
    {
      provide: token,
      inject: counters.map(([, [name]]) => getToken(name)),
      useFactory: (...made: Counter[]) =>
        reporter(names, new Map(counters.map(([event], at) => [event, made[at]]))),
    },
  ];
}

function reporter<Owner>(
  { owner, entries, idField }: JournalNames<Owner>,
  counters: ReadonlyMap<string, Counter | undefined>,
): JournalReport {
  const logger = new Logger(owner.name);
  return (news) => {
    counters.get(news.event)?.inc(amountOf(news));
    if (news.event === 'committed' || (news.event === 'replayed' && news.records === 0)) return;
    const [event, message] = entries[news.event];
    const fields = news.event === 'quarantined' ? { [idField]: news.id, reason: news.reason } : news;
    logger[levels[news.event]]({ ...fields, event }, message);
  };
}

function amountOf(news: JournalNews): number {
  if (news.event === 'committed') return news.records;
  return news.event === 'damaged' ? news.lines : 1;
}
