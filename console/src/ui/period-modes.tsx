import type { ReactNode } from 'react';
import type { periodSearch } from '../lib/searches.js';
import { backName } from '../lib/time-range.js';
import { useChange } from '../lib/use-change.js';
import { Modes } from './modes.js';

/** Hours back from now, as they stand in the address; absent: an hour, like grades. */
type Period = ReturnType<typeof periodSearch>['period'];

export const hoursOf = (period: Period): number => Number(period ?? '1');

/** The same hours as the range of a list. */
export const sinceOf = (period: Period): string => ({ '1': '1h', '24': '24h', '168': '7d' })[period ?? '1'];

const names = { '1': backName('1h'), '24': backName('24h'), '168': backName('7d') } as const;

/** The period of figures and charts. */
export function PeriodModes({ period }: { readonly period: Period }): ReactNode {
  const change = useChange<ReturnType<typeof periodSearch>>();
  return (
    <Modes
      label="Period"
      names={names}
      value={period ?? '1'}
      onChange={(chosen) => change({ period: chosen === '1' ? undefined : chosen })}
    />
  );
}
