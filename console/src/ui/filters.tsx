import { type ReactNode, useEffect, useState } from 'react';
import { localTime, utcTime } from '../lib/local-time.js';
import { inputLook } from './controls.js';
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
}

const typingMs = 200;

/** Takes effect when the typing pauses. */
export function FilterText(props: FilterTextProps): ReactNode {
  const { label, value = '', onChange, placeholder, wide = false } = props;
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return undefined;
    const timer = setTimeout(() => onChange(typed === '' ? undefined : typed), typingMs);
    return () => clearTimeout(timer);
    // A new callback is no reason to wait anew.
  }, [typed, value]);
  return (
    <label className={`${css.filter} ${wide ? css.wide : ''}`}>
      {label}
      <input
        type="search"
        className={inputLook}
        placeholder={placeholder}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
    </label>
  );
}

interface FilterSelectProps<T extends string> {
  readonly label: string;
  readonly value: T | undefined;
  readonly options: readonly T[];
  /** The label of no choice. */
  readonly none?: string;
  readonly onChange: (value: T | undefined) => void;
}

export function FilterSelect<T extends string>(props: FilterSelectProps<T>): ReactNode {
  const { label, value, options, none = 'any', onChange } = props;
  return (
    <label className={css.filter}>
      {label}
      <select
        className={inputLook}
        value={value ?? ''}
        onChange={({ target }) => onChange(options.find((option) => option === target.value))}
      >
        <option value="">{none}</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
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

/** A moment, in the time zone of whoever looks. */
export function FilterTime({ label, value, onChange }: FilterTimeProps): ReactNode {
  return (
    <label className={css.filter}>
      {label}
      <input
        type="datetime-local"
        step={1}
        className={`${inputLook} ${css.time}`}
        value={localTime(value)}
        onChange={({ target }) => onChange(target.value === '' ? undefined : utcTime(target.value))}
      />
    </label>
  );
}
