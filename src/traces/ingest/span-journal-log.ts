import { Injectable, Logger } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter } from 'prom-client';
import type { JournalNews } from '../../journal/journal.js';

const messages = {
  write_failed: ['error', 'the journal of spans cannot be written'],
  drain_ended: ['error', 'a thread of the spans ended and is started again'],
  left: ['warn', 'spans stay in the journal; the next start inserts them'],
  retrying: ['warn', 'spans could not be written to the database yet'],
  damaged: ['error', 'lines of the journal of spans cannot be read'],
  quarantined: ['error', 'the database refuses a span: see spans_quarantine'],
  replayed: ['log', 'the last journal of spans is in the database'],
} as const;

/** Logs and counts what becomes of the journal of spans. */
@Injectable()
export class SpanJournalLog {
  private readonly logger = new Logger('SpanIngest');

  constructor(
    @InjectMetric('toolkeeper_spans_stored_total') private readonly stored: Counter,
    @InjectMetric('toolkeeper_spans_quarantined_total') private readonly quarantined: Counter,
  ) {}

  hear(news: JournalNews): void {
    if (news.event === 'committed') return this.stored.inc(news.records);
    if (news.event === 'quarantined') this.quarantined.inc();
    if (news.event === 'replayed' && news.records === 0) return;
    const [level, message] = messages[news.event];
    this.logger[level]({ ...news, event: `spans_${news.event}` }, message);
  }
}
