import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ask, type GroupView, listGroups, type ListGroupsData } from '../../lib/api.js';
import { number } from '../../lib/format.js';
import { gathered } from '../../lib/gathered.js';
import { useTopic } from '../../lib/live.js';
import { Button } from '../../ui/controls.js';
import { keyOf } from './trace-table.js';

const newsMs = 2_000;

interface TraceNewsProps {
  readonly query: NonNullable<ListGroupsData['query']>;
  readonly shown: readonly GroupView[];
}

/** After spans came it asks for the first page, and shows it once somebody wants it. */
export function TraceNews({ query, shown }: TraceNewsProps): ReactNode {
  const client = useQueryClient();
  const newest = useQuery({
    queryKey: ['traces', 'news', query],
    queryFn: ({ signal }) => ask(listGroups({ query, signal })),
    enabled: false,
  });
  const [onSpans] = useState(() => gathered(() => newest.refetch(), newsMs));
  useTopic('spans', ({ event }) => event === 'spans' && onSpans());
  const known = new Set(shown.map(keyOf));
  const count = newest.data?.data.filter((row) => !known.has(keyOf(row))).length ?? 0;
  return (
    <span role="status">
      {count > 0 && (
        <Button
          small
          look="primary"
          onClick={() => void client.invalidateQueries({ queryKey: ['traces', 'list'] })}
        >
          {`${number(count)} new`}
        </Button>
      )}
    </span>
  );
}
