import { useEffect, useRef } from 'react';
import { tinykeys } from 'tinykeys';
import { isOnControl, isTyping } from '../lib/key-targets.js';

interface RowKeys {
  /** Ids of the rows, in the order in which they are shown. */
  readonly ids: readonly string[];
  readonly selected?: string | undefined;
  /** Absent: the row that has the focus counts as selected. */
  readonly onSelect?: (id?: string) => void;
  readonly onOpen: (id: string) => void;
  /** Brings a row into sight. */
  readonly show?: (index: number) => void;
}

const rowOf = (id: string): HTMLElement | null =>
  document.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`);

/**
 * J and K go through the rows, Enter opens the one that is looked at, Esc closes it. The focus goes along: Tab leads on
 * from the row, which carries its id as `data-row`.
 */
export function useRowKeys({ ids, selected, onSelect, onOpen, show }: RowKeys): void {
  const wanted = useRef<string>(undefined);
  // Each time, because rows are rendered when they become visible.
  useEffect(() => {
    if (wanted.current === undefined || wanted.current !== selected) return;
    const row = rowOf(wanted.current);
    row?.focus({ preventScroll: show !== undefined });
    if (row) wanted.current = undefined;
  });
  useEffect(() => {
    if (ids.length === 0) return undefined;
    const current = (): string | undefined =>
      onSelect ? selected : document.activeElement?.closest<HTMLElement>('[data-row]')?.dataset['row'];
    const go = (by: number): void => {
      const id = current();
      const at = id === undefined ? -1 : ids.indexOf(id);
      const index = Math.min(ids.length - 1, Math.max(0, at + by));
      const next = ids[index];
      if (next === undefined) return;
      if (!onSelect) return rowOf(next)?.focus();
      wanted.current = next;
      onSelect(next);
      show?.(index);
    };
    const unless = (isElsewhere: (event: Event) => boolean, act: () => void) => (event: KeyboardEvent) => {
      if (!isElsewhere(event)) act();
    };
    const open = (): void => {
      const id = current();
      if (id !== undefined && ids.includes(id)) onOpen(id);
    };
    return tinykeys(window, {
      j: unless(isTyping, () => go(1)),
      k: unless(isTyping, () => go(-1)),
      Enter: unless(isOnControl, open),
      Escape: unless(isTyping, () => selected !== undefined && onSelect?.()),
    });
  });
}
