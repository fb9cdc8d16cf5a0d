import { Combobox as Typed } from '@base-ui/react/combobox';
import { CSPProvider } from '@base-ui/react/csp-provider';
import { Select as Base } from '@base-ui/react/select';
import type { ReactNode } from 'react';
import { Icon } from './icons.js';
import menu from './menu.module.css';
import css from './select.module.css';

interface SelectProps<T extends string> {
  /** Read by a screen reader, and shown before the value. */
  readonly label: string;
  readonly id?: string;
  readonly value: T | undefined;
  readonly options: readonly T[];
  /** Labels of options that are not shown as they are. */
  readonly names?: Readonly<Partial<Record<T, string>>> | undefined;
  /** Label of no choice; absent: one of the options must be chosen. */
  readonly none?: string | undefined;
  readonly onChange: (value: T | undefined) => void;
}

/** A choice of one among a few options. */
export function Select<T extends string>(props: SelectProps<T>): ReactNode {
  const { label, id, value, options, names, none, onChange } = props;
  const nameOf = (option: T): string => names?.[option] ?? option;
  const items = [
    ...(none === undefined ? [] : [{ value: '', label: none }]),
    ...options.map((option) => ({ value: option, label: nameOf(option) })),
  ];
  return (
    // Base UI would add a style element to hide scroll bars.
    <CSPProvider disableStyleElements>
      <Base.Root
        items={items}
        value={value ?? ''}
        onValueChange={(chosen) => onChange(options.find((option) => option === chosen))}
        modal={false}
      >
        <Base.Trigger className={css.trigger} aria-label={label} id={id}>
          <span className={css.label}>{label}</span>
          <Base.Value />
          <Icon name="down" />
        </Base.Trigger>
        <Base.Portal>
          <Base.Positioner className={menu.positioner} sideOffset={4} alignItemWithTrigger={false}>
            <Base.Popup className={`${menu.popup} ${css.popup}`}>
              <Base.List>
                {items.map((item) => (
                  <Base.Item key={item.value} value={item.value} className={`${menu.item} ${css.option}`}>
                    <Base.ItemIndicator className={css.check} keepMounted>
                      <Icon name="check" />
                    </Base.ItemIndicator>
                    <Base.ItemText>{item.label}</Base.ItemText>
                  </Base.Item>
                ))}
              </Base.List>
            </Base.Popup>
          </Base.Positioner>
        </Base.Portal>
      </Base.Root>
    </CSPProvider>
  );
}

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
  <Typed.Root
    items={props.options}
    value={props.value ?? null}
    onValueChange={(chosen) => props.onChange(chosen ?? undefined)}
    autoHighlight
    limit={200}
  >
    <Typed.Input
      id={props.id}
      className={`${css.input} ${props.className ?? ''}`}
      aria-label={props.label}
      placeholder="any"
    />
    <Typed.Portal>
      <Typed.Positioner className={menu.positioner} sideOffset={4} align="start">
        <Typed.Popup className={`${menu.popup} ${css.popup}`}>
          <Typed.Empty className={css.none}>{props.nothing}</Typed.Empty>
          <Typed.List>
            {(option: string) => (
              <Typed.Item key={option} value={option} className={`${menu.item} ${css.option}`}>
                {option}
              </Typed.Item>
            )}
          </Typed.List>
        </Typed.Popup>
      </Typed.Positioner>
    </Typed.Portal>
  </Typed.Root>
);
