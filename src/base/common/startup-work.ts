import { Logger } from '@nestjs/common';

export type StartupState = 'running' | 'done' | 'failed';

/**
 * The work that modules start in the background while the server already listens (tool processes, imports).
 * `/startupz` waits until all of it has settled. A failed part is shown but does not block the server, because the others can
 * serve.
 */
export class StartupWork {
  private readonly logger = new Logger(StartupWork.name);
  private readonly parts = new Map<string, StartupState>();
  private readonly pending = new Set<Promise<void>>();
  /** Describes the progress of work that may continue after the start. Set by the module of that work. */
  progress: (() => string) | undefined;

  /** Registers a part. If its promise rejects, the error is logged and the part is shown as failed. */
  register(name: string, work: Promise<unknown>): void {
    this.parts.set(name, 'running');
    const settled = work
      .then(
        () => void this.parts.set(name, 'done'),
        (error: unknown) => {
          this.parts.set(name, 'failed');
          this.logger.error(error, `start: ${name} failed`);
        },
      )
      .finally(() => this.pending.delete(settled));
    this.pending.add(settled);
  }

  /** Whether no part is running. */
  isSettled(): boolean {
    return this.pending.size === 0;
  }

  /** The state of each part, by its name. */
  view(): Record<string, StartupState> {
    return Object.fromEntries(this.parts);
  }

  /** Resolves when all parts have settled, including those that other parts register. */
  async settled(): Promise<void> {
    while (this.pending.size > 0) await Promise.all(this.pending);
  }
}
