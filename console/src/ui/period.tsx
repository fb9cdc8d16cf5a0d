import type { ReactNode } from 'react';
import type { periodSearch } from '../lib/searches.js';
import { useChange } from '../lib/use-change.js';
import { FilterSelect } from './filters.js';

/** Hours back from now, as they stand in the address; absent: a day. */
type Period = ReturnType<typeof periodSearch>['period'];

export const hoursOf = (period: Period): number => Number(period ?? '24');

const names = { '1': 'last hour', '24': 'last day', '168': 'last week' } as const;

interface PeriodSelectProps {
  readonly label?: string;
  readonly period: Period;
}

export function PeriodSelect({ label = 'Period', period }: PeriodSelectProps): ReactNode {
  const change = useChange<ReturnType<typeof periodSearch>>();
  return (
    <FilterSelect
      label={label}
      none={names['24']}
      names={names}
      options={['1', '168']}
      value={period}
      onChange={(chosen) => change({ period: chosen })}
    />
  );
}
