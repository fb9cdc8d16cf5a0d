import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';

/** @returns what changes parts of the state that the screen keeps in its address; the others stay, and so does the scroll */
export function useChange<Search extends object>(): (changes: Search) => void {
  const navigate = useNavigate();
  return useCallback(
    (changes) =>
      void navigate({
        to: '.',
        search: (old) => ({ ...old, ...changes }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
}
