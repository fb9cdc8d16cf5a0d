import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { number } from '../../lib/format.js';
import { gathered } from '../../lib/gathered.js';
import { useTopic } from '../../lib/live.js';
import type { Sought } from '../../lib/project.js';
import { Button } from '../../ui/controls.js';
import { type Group, type GroupQuery, groupsIn } from './groups.js';
import { keyOf } from './trace-table.js';

const newsMs = 2_000;

interface TraceNewsProps {
  readonly query: GroupQuery;
  readonly projects: Sought;
  readonly shown: readonly Group[];
}

/** After spans came it asks for the first page, and shows it once somebody wants it. */
export function TraceNews({ query, projects, shown }: TraceNewsProps): ReactNode {
  const client = useQueryClient();
  const newest = useQuery({
    queryKey: ['traces', 'news', query, projects],
    queryFn: ({ signal }) => groupsIn(projects, query, signal),
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
