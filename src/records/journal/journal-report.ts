import { Logger, type Provider, type Type } from '@nestjs/common';
import { getToken, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';
import { counter } from '../../base/observability/metrics.js';
import type { JournalListener, JournalNews, JournalState } from './journal.js';

/** Name and help of a metric, or event and message of a log entry. */
type NameAndText = readonly [name: string, text: string];

/** A provider that owns a journal. */
interface JournalOwner {
  state(): JournalState;
}

/** Names of a journal for operators: name and help of each metric, event and message of each log entry. */
interface JournalNames {
  readonly owner: Type<JournalOwner>;
  readonly gauges: Readonly<Record<keyof typeof gaugeValues, NameAndText>>;
  readonly counters: Readonly<Partial<Record<JournalNews['event'], NameAndText>>>;
  readonly entries: Readonly<Record<keyof typeof levels, NameAndText>>;
  /** Log field with the id of a quarantined record. */
  readonly idField: string;
}

/** The value of each gauge. */
const gaugeValues = {
  depth: ({ depth }: JournalState) => depth,
  oldest: ({ oldestMs }: JournalState) => oldestMs / 1_000,
  bytes: ({ bytes }: JournalState) => bytes,
} as const;
/** The level of each log entry. */
const levels = {
  write_failed: 'error',
  drain_ended: 'error',
  left: 'warn',
  retrying: 'warn',
  damaged: 'error',
  quarantined: 'error',
  replayed: 'log',
} as const;

/** The lines or records that an event is about; 1 for events that have neither. */
function countOf(news: JournalNews): number {
  if ('lines' in news) return news.lines;
  return 'records' in news ? news.records : 1;
}

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
  const useFactory = (...injected: Counter[]): JournalListener => {
    const logger = new Logger(owner.name);
    const countersByEvent = new Map(counters.map(([event], index) => [event, injected[index]]));
    return (news) => {
      countersByEvent.get(news.event)?.inc(countOf(news));
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
