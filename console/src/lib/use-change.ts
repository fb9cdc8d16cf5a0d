import { useNavigate, useRouter } from '@tanstack/react-router';
import { useCallback } from 'react';

/**
 * Changes parts of the state that the screen keeps in its address; the others stay, and so does the scroll. A part that
 * comes or goes (a peek, a filter) makes a place to which Back returns; a part that only takes another value, as while
 * typing or going through rows, replaces the place.
 */
export function useChange<Search extends object>(): (changes: Search) => void {
  const navigate = useNavigate();
  const router = useRouter();
  return useCallback(
    (changes) => {
      const now: Readonly<Record<string, unknown>> = router.latestLocation.search;
      const isPlace = Object.entries(changes).some(
        ([name, value]) => (now[name] === undefined) !== (value === undefined),
      );
      void navigate({
        to: '.',
        search: (old) => ({ ...old, ...changes }),
        replace: !isPlace,
        resetScroll: false,
      });
    },
    [navigate, router],
  );
}
