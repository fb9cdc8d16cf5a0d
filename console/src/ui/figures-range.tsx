import { lazy, type ReactNode, Suspense } from 'react';
import { rangeName, relativeStarts, type TimeRange } from '../lib/time-range.js';
import { buttonLook } from './controls.js';
import { Icon } from './icons.js';

/** Loaded later, because the first screen needs no menus. */
const Picker = lazy(async () => ({ default: (await import('./period.js')).RangePicker }));

/** The time range of figures and charts, which always has a start. */
export const FiguresRangePicker = (range: TimeRange): ReactNode => (
  <Suspense
    fallback={
      <button type="button" className={buttonLook()} disabled>
        <Icon name="clock" />
        {rangeName(range)}
      </button>
    }
  >
    <Picker {...range} choices={relativeStarts} />
  </Suspense>
);
