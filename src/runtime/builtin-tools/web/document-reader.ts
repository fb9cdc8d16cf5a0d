import { bulkhead } from 'cockatiel';
import type { AppConfig } from '../../../base/config/app-config.js';
import { WorkerCalls, WorkerEnded } from '../../../base/common/worker-calls.js';
import { callerMistake } from '../failures.js';
import type { DocumentText, WebDocument } from './document-text.js';

/** Time after which an idle process is stopped, so that it frees its memory. */
const idleMs = 60_000;

/** Reads untrusted documents in a process of its own, one at a time, so that their time and memory harm no other call. */
export class DocumentReader {
  private readonly turns = bulkhead(1, Infinity);
  private readonly worker: WorkerCalls<WebDocument, DocumentText>;
  private idleTimer: NodeJS.Timeout | undefined;

  constructor({ readMs, readMb }: Pick<AppConfig['builtinTools']['page'], 'readMs' | 'readMb'>) {
    this.worker = new WorkerCalls(new URL('./document.worker.js', import.meta.url), {
      name: 'document',
      heapMb: readMb,
      processMb: readMb * 2,
      timeLimitMs: readMs,
    });
  }

  /**
   * The text of a document.
   * @throws ToolFailure if it cannot be read within the limits; the signal's reason if that aborts before the reading,
   *   which it does not end
   */
  read(document: WebDocument, signal: AbortSignal): Promise<DocumentText> {
    return this.turns.execute(async () => {
      signal.throwIfAborted();
      clearTimeout(this.idleTimer);
      try {
        return await this.worker.call(document);
      } catch (error) {
        throw callerMistake(`The document cannot be read: ${reasonOf(error)}`);
      } finally {
        this.idleTimer = setTimeout(() => void this.worker.stop(), idleMs).unref();
      }
    });
  }

  /** Ends the process. */
  async stop(): Promise<void> {
    clearTimeout(this.idleTimer);
    await this.worker.stop();
  }
}

/** Why a document could not be read. */
function reasonOf(error: unknown): string {
  if (!(error instanceof WorkerEnded)) return (error as Error).message;
  if (error.isOutOfMemory) return 'it takes too much memory';
  return error.reason === 'timed_out' ? 'it takes too long' : error.message;
}
