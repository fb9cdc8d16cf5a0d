const name = 'toolkeeper.ui';

interface Kept {
  readonly session: string;
  /** The caller whose session it is. */
  readonly caller: string;
  /** Calls that this tab has begun, the newest last. */
  readonly begun: readonly string[];
}

/** More calls than can be under way when the page is reloaded. */
const maxBegun = 200;

/** The tab's session and the calls that it has begun. They survive a reload, so that no call runs twice. */
export class TabStore {
  /** @returns undefined if the tab has no session of this caller */
  session(caller: string): string | undefined {
    const kept = this.read();
    return kept?.caller === caller ? kept.session : undefined;
  }

  keep(session: string, caller: string): void {
    const begun = this.read()?.begun ?? [];
    this.write({ session, caller, begun });
  }

  forget(): void {
    window.sessionStorage.removeItem(name);
  }

  hasBegun(callId: string): boolean {
    return this.read()?.begun.includes(callId) ?? false;
  }

  begin(callId: string): void {
    const kept = this.read();
    if (kept) this.write({ ...kept, begun: [...kept.begun, callId].slice(-maxBegun) });
  }

  private read(): Kept | undefined {
    const text = window.sessionStorage.getItem(name);
    return text === null ? undefined : (JSON.parse(text) as Kept);
  }

  private write(kept: Kept): void {
    window.sessionStorage.setItem(name, JSON.stringify(kept));
  }
}
