import type { ReactNode } from 'react';
import { Button } from './controls.js';
import css from './controls.module.css';

interface ModesProps<T extends string> {
  readonly label: string;
  /** Labels of the modes, by value. */
  readonly names: Readonly<Partial<Record<T, string>>>;
  readonly value: T;
  readonly onChange: (value: T) => void;
  readonly isOff?: (value: T) => boolean;
}

/** Chooses one of several ways to show or edit the same thing. */
export const Modes = <T extends string>(props: ModesProps<T>): ReactNode => (
  <div className={css.modes} role="group" aria-label={props.label}>
    {(Object.keys(props.names) as T[]).map((each) => (
      <Button
        key={each}
        small
        look="quiet"
        aria-pressed={props.value === each}
        disabled={props.isOff?.(each) === true}
        onClick={() => props.onChange(each)}
      >
        {props.names[each]}
      </Button>
    ))}
  </div>
);
