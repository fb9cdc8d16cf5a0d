import type { ReactNode } from 'react';
import { FilterSelect } from './filters.js';

/** Hours back from now, as they stand in the address. */
type Period = '1' | '24' | '168';

const names = { 'last hour': '1', 'last day': '24', 'last week': '168' } as const;
type Name = keyof typeof names;

export const hoursOf = (period: Period | undefined): number => Number(period ?? '24');

interface PeriodSelectProps {
  readonly label?: string;
  readonly period: Period | undefined;
  readonly onChange: (period: Period | undefined) => void;
}

export function PeriodSelect({ label = 'Period', period, onChange }: PeriodSelectProps): ReactNode {
  const options: readonly Name[] = ['last hour', 'last week'];
  return (
    <FilterSelect<Name>
      label={label}
      none="last day"
      options={options}
      value={options.find((name) => names[name] === period)}
      onChange={(name) => onChange(name && names[name])}
    />
  );
}
