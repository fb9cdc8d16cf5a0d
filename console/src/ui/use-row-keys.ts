import { useEffect, useRef } from 'react';
import { tinykeys } from 'tinykeys';
import { isOnControl, isTyping } from '../lib/key-targets.js';

interface RowKeys {
  /** Ids of the rows, in the order in which they are shown. */
  readonly ids: readonly string[];
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
  readonly onOpen: (id: string) => void;
  /** Brings a row into sight. */
  readonly show?: (index: number) => void;
}

/**
 * J and K go through the rows, Enter opens the one that is looked at, Esc closes it. The focus goes along: Tab leads on
 * from the row, which carries its id as `data-row`.
 */
export function useRowKeys({ ids, selected, onSelect, onOpen, show }: RowKeys): void {
  const wanted = useRef<string>(undefined);
  // Each time: a row that was out of sight may be drawn later.
  useEffect(() => {
    if (wanted.current === undefined || wanted.current !== selected) return;
    const row = document.querySelector<HTMLElement>(`[data-row="${CSS.escape(selected)}"]`);
    row?.focus({ preventScroll: show !== undefined });
    if (row) wanted.current = undefined;
  });
  useEffect(() => {
    const at = selected === undefined ? -1 : ids.indexOf(selected);
    const go = (place: number): void => {
      const index = Math.min(ids.length - 1, Math.max(0, place));
      const id = ids[index];
      if (id === undefined) return;
      wanted.current = id;
      onSelect(id);
      show?.(index);
    };
    const unless = (isElsewhere: (event: Event) => boolean, act: () => void) => (event: KeyboardEvent) => {
      if (!isElsewhere(event)) act();
    };
    return tinykeys(window, {
      j: unless(isTyping, () => go(at + 1)),
      k: unless(isTyping, () => go(at - 1)),
      Enter: unless(isOnControl, () => selected !== undefined && onOpen(selected)),
      Escape: unless(isTyping, () => selected !== undefined && onSelect(undefined)),
    });
  });
}
