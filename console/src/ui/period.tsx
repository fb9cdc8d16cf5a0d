import { Popover } from '@base-ui/react/popover';
import { type ReactNode, useState } from 'react';
import { localTime, utcTime } from '../lib/local-time.js';
import { rangeName, relativeStarts, sinceMoment, type TimeRange } from '../lib/time-range.js';
import { useChange } from '../lib/use-change.js';
import { Button, buttonLook, TextField } from './controls.js';
import { Icon } from './icons.js';
import menu from './menu.module.css';
import css from './period.module.css';

const allChoices = [undefined, ...relativeStarts] as const;

interface RangePickerProps extends TimeRange {
  /** Undefined: any time. */
  readonly choices?: readonly (typeof allChoices)[number][];
}

/** Chooses the time range of a screen: a start relative to now, or two moments. */
export function RangePicker({ choices = allChoices, ...range }: RangePickerProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const change = useChange<TimeRange>();
  const choose = (chosen: TimeRange): void => {
    setOpen(false);
    change(chosen);
  };
  return (
    <Popover.Root open={isOpen} onOpenChange={setOpen}>
      <Popover.Trigger className={buttonLook()} aria-label={`Period: ${rangeName(range)}`}>
        <Icon name="clock" />
        {rangeName(range)}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner className={menu.positioner} sideOffset={4} align="end">
          <Popover.Popup className={`${menu.popup} ${css.popup}`} aria-label="Period">
            {choices.map((since) => (
              <button
                key={since ?? ''}
                type="button"
                className={`${menu.item} ${css.choice}`}
                aria-pressed={range.since === since && range.until === undefined}
                onClick={() => choose({ since, until: undefined })}
              >
                {rangeName({ since })}
              </button>
            ))}
            <Custom range={range} onChoose={choose} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

interface CustomProps {
  readonly range: TimeRange;
  readonly onChoose: (range: TimeRange) => void;
}

/** Both ends in the browser's time zone. */
function Custom({ range, onChoose }: CustomProps): ReactNode {
  const [since, setSince] = useState(localTime(sinceMoment(range.since)));
  const [until, setUntil] = useState(localTime(range.until));
  const moment = (text: string): string | undefined => (text === '' ? undefined : utcTime(text));
  const field = { type: 'datetime-local', step: 1 } as const;
  return (
    <form
      className={css.custom}
      onSubmit={(event) => {
        event.preventDefault();
        onChoose({ since: moment(since), until: moment(until) });
      }}
    >
      <TextField {...field} label="Since" value={since} onText={setSince} />
      <TextField {...field} label="Until" value={until} onText={setUntil} />
      <Button type="submit">Apply</Button>
    </form>
  );
}
