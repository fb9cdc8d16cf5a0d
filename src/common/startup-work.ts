export type StartupState = 'running' | 'done' | 'failed';

/**
 * What modules start in the background while the server already listens (tool processes, imports). `/startupz` waits
 * until all of it has settled; a failed part is shown, but does not hold the server back: the rest can serve.
 */
export class StartupWork {
  private readonly parts = new Map<string, { state: StartupState; error?: string }>();
  private readonly pending = new Set<Promise<void>>();

  /** The promise may reject: its message is shown under the name. */
  register(name: string, work: Promise<unknown>): void {
    const part: { state: StartupState; error?: string } = { state: 'running' };
    this.parts.set(name, part);
    const settled = work
      .then(
        () => void (part.state = 'done'),
        (error: unknown) => {
          part.state = 'failed';
          part.error = error instanceof Error ? error.message : String(error);
        },
      )
      .finally(() => this.pending.delete(settled));
    this.pending.add(settled);
  }

  isSettled(): boolean {
    return this.pending.size === 0;
  }

  /** State by name of the part. */
  view(): Record<string, { state: StartupState; error?: string }> {
    return Object.fromEntries([...this.parts].map(([name, part]) => [name, { ...part }]));
  }

  /** Resolves when everything registered so far, and by it, has settled. */
  async settled(): Promise<void> {
    while (this.pending.size > 0) await Promise.all(this.pending);
  }
}
