import { workerData } from 'node:worker_threads';
import { answerCalls, tellOwner } from '../../../base/common/worker-calls.js';
import { drainThread } from '../../journal/drain-thread.js';
import { Journal, type JournalNews, type JournalSettings, type JournalState } from '../../journal/journal.js';
import type { SinkSettings } from '../../journal/table-sink.js';
import type { SpanRow } from '../span-row.js';
import { type Intake, type IntakeSettings, type SpanBatch, SpanIntake } from './span-intake.js';

export interface IngestOrders {
  readonly journal: Omit<JournalSettings, 'drain'>;
  readonly sink: SinkSettings;
  readonly intake: IntakeSettings;
}

/** `open` begins to bring to the database what an earlier gateway left. */
export type IngestRequest =
  | { readonly ask: 'open' | 'flush' }
  | { readonly ask: 'close'; readonly withinMs: number }
  | { readonly ask: 'take'; readonly batch: SpanBatch };

export type IngestNews = { readonly state: JournalState } | { readonly news: JournalNews };

const { journal: settings, sink, intake: limits } = workerData as IngestOrders;
/** Interval of reports on the journal's progress while entries wait. */
const tellEveryMs = 250;

interface Opened {
  readonly journal: Journal<SpanRow, object>;
  readonly intake: SpanIntake;
}

let opening: Promise<Opened> | undefined;

/** A journal that another gateway has is tried again with the next request. */
function opened(): Promise<Opened> {
  opening ??= open().catch((error: unknown) => {
    opening = undefined;
    throw error;
  });
  return opening;
}

async function open(): Promise<Opened> {
  const drain = drainThread(new URL('./span-drain.worker.js', import.meta.url), sink);
  const journal = await Journal.open<SpanRow, object>({ ...settings, drain }, (news) =>
    tellOwner<IngestNews>({ news }),
  );
  let reportedDepth = 0;
  setInterval(() => {
    const { state } = journal;
    if (reportedDepth > 0 || state.depth > 0) tellOwner<IngestNews>({ state });
    reportedDepth = state.depth;
  }, tellEveryMs);
  return { journal, intake: new SpanIntake(journal, limits) };
}

answerCalls<IngestRequest, Intake | undefined>(async (request) => {
  if (request.ask === 'close' && !opening) return undefined;
  const { journal, intake } = await opened();
  if (request.ask === 'flush') await journal.flush();
  if (request.ask === 'close') await journal.close(request.withinMs);
  const taken = request.ask === 'take' ? await intake.take(request.batch) : undefined;
  tellOwner<IngestNews>({ state: journal.state });
  return taken;
});
