import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ask, listLabels } from '../../lib/api.js';
import type { tracesSearch } from '../../lib/searches.js';
import { Button } from '../../ui/controls.js';
import { FilterBar, FilterNumber, FilterSelect, FilterText } from '../../ui/filters.js';

type Search = ReturnType<typeof tracesSearch>;

/** Filters that come by following a link; they can only be taken away. */
const given = ['thread', 'trace', 'since', 'until'] as const;
const maxShown = 40;

interface TraceFiltersProps {
  readonly search: Search;
  readonly change: (changes: Search) => void;
}

export function TraceFilters({ search, change }: TraceFiltersProps): ReactNode {
  const labels = useQuery({
    queryKey: ['traces', 'labels'],
    queryFn: async ({ signal }) => (await ask(listLabels({ query: { limit: 200 }, signal }))).labels,
    staleTime: 60_000,
  });
  const names = new Set(labels.data?.map(({ name }) => name));
  if (search.labels !== undefined) names.add(search.labels);
  return (
    <FilterBar label="Traces">
      <FilterText label="Search" wide value={search.q} onChange={(q) => change({ q })} />
      <FilterText label="Model" value={search.model} onChange={(model) => change({ model })} />
      <FilterSelect
        label="Label"
        value={search.labels}
        options={[...names]}
        onChange={(label) => change({ labels: label })}
      />
      <FilterSelect
        label="Status"
        value={search.status}
        options={['success', 'error']}
        onChange={(status) => change({ status })}
      />
      <FilterSelect
        label="Has errors"
        value={search.errors}
        options={['yes', 'no']}
        onChange={(errors) => change({ errors })}
      />
      <FilterNumber label="Min cost, $" value={search.minCost} onChange={(minCost) => change({ minCost })} />
      <FilterNumber label="Min duration, ms" value={search.minMs} onChange={(minMs) => change({ minMs })} />
      {given.map(
        (name) =>
          search[name] !== undefined && (
            <Button key={name} onClick={() => change({ [name]: undefined })}>
              {`${name}: ${search[name].slice(0, maxShown)} ×`}
            </Button>
          ),
      )}
    </FilterBar>
  );
}
