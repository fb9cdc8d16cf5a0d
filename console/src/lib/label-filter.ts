import { useNavigate, useRouter } from '@tanstack/react-router';
import { useCallback } from 'react';

/** Labels in an address, separated by commas. A comma in a label is escaped with a backslash. */
export const labelsIn = (text = ''): string[] =>
  text === '' ? [] : text.split(/(?<!\\),/).map((label) => label.replaceAll('\\,', ','));

export const textOfLabels = (labels: readonly string[]): string | undefined =>
  labels.map((label) => label.replaceAll(',', '\\,')).join(',') || undefined;

/** Available and selected labels. */
export function labelChoice(known: readonly string[], value = '') {
  const options = [...new Set([value, ...known.map((label) => textOfLabels([label]) ?? '')])].filter(Boolean);
  return { options, names: Object.fromEntries(options.map((text) => [text, labelsIn(text).join(', ')])) };
}

export interface LabelChange {
  readonly labels: readonly string[];
  readonly action: 'set' | 'add' | 'clear';
  /** Absent: the open trace, or the list as it is. */
  readonly view?: 'threads' | 'traces' | undefined;
}

/** Filters the open trace or the list of traces by labels. On another screen it opens the list. */
export function useLabelFilter(): (change: LabelChange) => Promise<void> {
  const navigate = useNavigate();
  const router = useRouter();
  return useCallback(
    ({ labels, action, view }) => {
      const { pathname, search } = router.latestLocation;
      const before: { readonly labels?: string } = pathname.startsWith('/traces') ? search : {};
      const after = action === 'add' ? [...new Set([...labelsIn(before.labels), ...labels])] : labels;
      const text = action === 'clear' ? undefined : textOfLabels(after);
      if (view === undefined && pathname.startsWith('/traces'))
        return navigate({ to: '.', search: (old: object) => ({ ...old, labels: text }) });
      const group = view === 'threads' ? 'thread' : undefined;
      return navigate({ to: '/traces', search: { labels: text, group } });
    },
    [navigate, router],
  );
}
