import { useState } from 'react';

const prefix = 'toolkeeper.draft.';

interface Draft {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly isChanged: boolean;
  /** Restores the initial text. */
  readonly forget: () => void;
}

/**
 * A text that is being written. It survives a reload of its tab, as the session's CSRF token does, in the same storage
 * and no longer; one that began from something else than what is there now is forgotten.
 */
export function useDraft(name: string, initial: string): Draft {
  const key = prefix + name;
  const [draft, setDraft] = useState({ key: '', text: '' });
  // The same screen may show another thing, which has another draft.
  const text = draft.key === key ? draft.text : (readDraft(key, initial) ?? initial);
  const keep = (changed: string): void => {
    setDraft({ key, text: changed });
    if (changed === initial) window.sessionStorage.removeItem(key);
    else writeDraft(key, initial, changed);
  };
  return { text, setText: keep, isChanged: text !== initial, forget: () => keep(initial) };
}

export function forgetDrafts(): void {
  for (const key of Object.keys(window.sessionStorage))
    if (key.startsWith(prefix)) window.sessionStorage.removeItem(key);
}

function readDraft(key: string, initial: string): string | undefined {
  const kept = window.sessionStorage.getItem(key);
  if (kept === null) return undefined;
  const [began, text] = JSON.parse(kept) as [string, string];
  return began === initial ? text : undefined;
}

function writeDraft(key: string, initial: string, text: string): void {
  try {
    window.sessionStorage.setItem(key, JSON.stringify([initial, text]));
  } catch {
    // The tab's storage is full: this text is too large to survive a reload.
    window.sessionStorage.removeItem(key);
  }
}
