import { useEffect } from 'react';
import { tinykeys } from 'tinykeys';
import { isTyping } from '../lib/is-typing.js';

interface RowKeys {
  /** Ids of the rows, in the order in which they are shown. */
  readonly ids: readonly string[];
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
  readonly onOpen: (id: string) => void;
  /** Brings a row into sight. */
  readonly show?: (index: number) => void;
}

/** J and K go through the rows, Enter opens the one that is looked at, Esc closes it. */
export function useRowKeys({ ids, selected, onSelect, onOpen, show }: RowKeys): void {
  useEffect(() => {
    const at = selected === undefined ? -1 : ids.indexOf(selected);
    const go = (wanted: number): void => {
      const index = Math.min(ids.length - 1, Math.max(0, wanted));
      const id = ids[index];
      if (id === undefined) return;
      onSelect(id);
      show?.(index);
    };
    const unlessTyping = (act: () => void) => (event: KeyboardEvent) => {
      if (!isTyping(event)) act();
    };
    return tinykeys(window, {
      j: unlessTyping(() => go(at + 1)),
      k: unlessTyping(() => go(at - 1)),
      Enter: (event) => {
        const isOnControl =
          event.target instanceof Element && event.target.closest('a, button, input, select') !== null;
        if (selected !== undefined && !isOnControl) onOpen(selected);
      },
      Escape: () => selected !== undefined && onSelect(undefined),
    });
  });
}
