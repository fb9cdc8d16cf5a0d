import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ask, listLabels } from '../../lib/api.js';
import type { tracesSearch } from '../../lib/searches.js';
import { type Filter, FilterBar } from '../../ui/filters.js';

const filters: readonly Filter[] = [
  { key: 'model', label: 'Model', of: 'texts' },
  { key: 'status', label: 'Status', options: ['success', 'error'] },
  { key: 'errors', label: 'Has errors', options: ['yes', 'no'] },
  { key: 'minCost', label: 'Min cost, $', of: 'numbers' },
  { key: 'minMs', label: 'Min duration, ms', of: 'numbers' },
  { key: 'thread', label: 'Thread', of: 'texts' },
  { key: 'trace', label: 'Trace', of: 'texts' },
];

export function TraceFilters({ search }: { readonly search: ReturnType<typeof tracesSearch> }): ReactNode {
  const labels = useQuery({
    queryKey: ['traces', 'labels'],
    queryFn: async ({ signal }) => (await ask(listLabels({ query: { limit: 200 }, signal }))).labels,
    staleTime: 60_000,
  });
  const options = labels.data?.map(({ name }) => name) ?? [];
  return (
    <FilterBar
      label="Traces"
      text={{ key: 'q', label: 'Search', wide: true }}
      search={search}
      filters={[{ key: 'labels', label: 'Label', options }, ...filters]}
      range={search}
    />
  );
}
