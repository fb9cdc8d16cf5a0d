import { Combobox as Base } from '@base-ui/react/combobox';
import type { ReactNode } from 'react';
import menu from './menu.module.css';
import css from './select.module.css';

interface ComboboxProps {
  readonly label: string;
  readonly id?: string;
  readonly className?: string | undefined;
  readonly value: string | undefined;
  readonly options: readonly string[];
  /** Shown if no option contains the typed text. */
  readonly nothing: string;
  readonly onChange: (value: string | undefined) => void;
}

/** A choice of one among many options, which typing narrows. */
export const Combobox = (props: ComboboxProps): ReactNode => (
  <Base.Root
    items={props.options}
    value={props.value ?? null}
    onValueChange={(chosen) => props.onChange(chosen ?? undefined)}
    autoHighlight
    limit={200}
  >
    <Base.Input
      id={props.id}
      className={`${css.input} ${props.className ?? ''}`}
      aria-label={props.label}
      placeholder="any"
    />
    <Base.Portal>
      <Base.Positioner className={menu.positioner} sideOffset={4} align="start">
        <Base.Popup className={`${menu.popup} ${css.popup}`}>
          <Base.Empty className={css.none}>{props.nothing}</Base.Empty>
          <Base.List>
            {(option: string) => (
              <Base.Item key={option} value={option} className={`${menu.item} ${css.option}`}>
                {option}
              </Base.Item>
            )}
          </Base.List>
        </Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  </Base.Root>
);
