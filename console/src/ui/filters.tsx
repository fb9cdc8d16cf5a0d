import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from 'react';
import { localTime, utcTime } from '../lib/local-time.js';
import css from './filters.module.css';

export const FilterBar = ({ label, children }: { label: string; children: ReactNode }): ReactNode => (
  <search aria-label={label} className={css.bar}>
    {children}
  </search>
);

interface FilterTextProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
  readonly placeholder?: string;
  /** With its part of the room that there is; the first of the bar takes the most. */
  readonly wide?: boolean;
  /** The value that comes back when a text took effect; absent: the same text. */
  readonly meaning?: (text: string) => string;
}

const typingMs = 200;

/** Takes effect when the typing pauses. */
export function FilterText(props: FilterTextProps): ReactNode {
  const { label, value = '', placeholder, wide = false, meaning = (text) => text } = props;
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  const send = useEffectEvent(() => {
    sent.current = meaning(typed);
    props.onChange(typed === '' ? undefined : typed);
  });
  useEffect(() => {
    // Its own text that comes back is no news: more may be typed by then.
    if (value !== sent.current) setTyped(value);
    sent.current = value;
  }, [value]);
  useEffect(() => {
    if (typed === value) return undefined;
    const timer = setTimeout(send, typingMs);
    return () => clearTimeout(timer);
  }, [typed, value]);
  return (
    <label className={`${css.filter} ${wide ? css.wide : ''}`}>
      {label}
      <input
        type="search"
        placeholder={placeholder}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
    </label>
  );
}

interface FilterNumberProps extends Pick<FilterTextProps, 'label' | 'placeholder'> {
  readonly value: number | undefined;
  readonly onChange: (value: number | undefined) => void;
}

/** A number as it is typed; what is none is no filter. */
export const FilterNumber = ({ value, onChange, ...rest }: FilterNumberProps): ReactNode => (
  <FilterText
    {...rest}
    value={value?.toString()}
    meaning={(text) => numberIn(text)?.toString() ?? ''}
    onChange={(text) => onChange(numberIn(text))}
  />
);

const numberIn = (text = ''): number | undefined =>
  text.trim() === '' || Number.isNaN(Number(text)) ? undefined : Number(text);

interface FilterSelectProps<T extends string> {
  readonly label: string;
  readonly value: T | undefined;
  readonly options: readonly T[];
  /** Their names where they are not read as they are. */
  readonly names?: Readonly<Record<T, string>>;
  /** The label of no choice. */
  readonly none?: string;
  readonly onChange: (value: T | undefined) => void;
}

export function FilterSelect<T extends string>(props: FilterSelectProps<T>): ReactNode {
  const { label, value, options, names, none = 'any', onChange } = props;
  return (
    <label className={css.filter}>
      {label}
      <select
        value={value ?? ''}
        onChange={({ target }) => onChange(options.find((option) => option === target.value))}
      >
        <option value="">{none}</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {names?.[option] ?? option}
          </option>
        ))}
      </select>
    </label>
  );
}

interface FilterTimeProps {
  readonly label: string;
  /** ISO 8601. */
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

/** A date and time in the browser's time zone. */
export function FilterTime({ label, value, onChange }: FilterTimeProps): ReactNode {
  return (
    <label className={css.filter}>
      {label}
      <input
        type="datetime-local"
        step={1}
        className={css.time}
        value={localTime(value)}
        onChange={({ target }) => onChange(target.value === '' ? undefined : utcTime(target.value))}
      />
    </label>
  );
}
