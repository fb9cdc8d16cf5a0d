import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useEffectEvent, useId, useRef, useState } from 'react';
import { useProjects } from '../lib/project.js';
import { recordedToolsQuery } from '../lib/queries.js';
import type { TimeRange } from '../lib/time-range.js';
import { useChange } from '../lib/use-change.js';
import css from './filters.module.css';
import { Icon } from './icons.js';
import { Menu } from './menu.js';
import { RangePicker } from './period.js';
import { Combobox, Select } from './select.js';

interface Field {
  /** Its name in the address. */
  readonly key: string;
  readonly label: string;
}
interface Choice extends Field {
  readonly options: readonly string[];
  readonly names?: Readonly<Record<string, string>>;
}
/** A filter that can be added: a choice, the name of a tool, a number, or a text. */
export type Filter = Choice | (Field & { readonly of: 'tools' | 'numbers' | 'texts' });

interface FilterBarProps {
  readonly label: string;
  /** The state in the address. */
  readonly search?: object;
  /** The text field that is always there. */
  readonly text?: Field & { readonly placeholder?: string; readonly wide?: boolean };
  readonly filters?: readonly Filter[];
  /** The rows belong to projects. */
  readonly byProject?: boolean;
  /** The list has times: `since` and `until` in the address. */
  readonly range?: TimeRange;
  readonly children?: ReactNode;
}

const valueOf = (search: object, key: string): string | undefined => {
  const value: unknown = Object.entries(search).find(([name]) => name === key)?.[1];
  const isSet = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isSet ? value.toString() : undefined;
};

/** The filters of a list, with that of the project if there are several. */
function useFilters({ byProject = false, filters = [] }: FilterBarProps): readonly Filter[] {
  const { projects, hasAll } = useProjects();
  if (!byProject || !hasAll || projects.length < 2) return filters;
  return [{ key: 'project', label: 'Project', options: projects }, ...filters];
}

/** The filters of a list in one line: a search, a chip for each filter that is set, and the period at the right. */
export function FilterBar(props: FilterBarProps): ReactNode {
  const { label, search = {}, text, range, children } = props;
  const filters = useFilters(props);
  const change = useChange<Readonly<Record<string, string | undefined>>>();
  /** Filters that were added and have no value yet. */
  const [added, setAdded] = useState<readonly string[]>([]);
  const newest = useRef('');
  const id = useId();
  const isShown = ({ key }: Filter): boolean => added.includes(key) || valueOf(search, key) !== undefined;
  const add = (key: string): void => {
    newest.current = key;
    setAdded((before) => [...before, key]);
  };
  const remove = (key: string): void => {
    setAdded((before) => before.filter((each) => each !== key));
    if (valueOf(search, key) !== undefined) change({ [key]: undefined });
  };
  const missing = filters.filter((filter) => !isShown(filter));
  return (
    <search aria-label={label} className={css.bar}>
      {text && (
        <FilterText
          {...text}
          value={valueOf(search, text.key)}
          onChange={(value) => change({ [text.key]: value })}
        />
      )}
      {filters.filter(isShown).map((filter) => (
        <span key={filter.key} className={css.chip}>
          <Control
            filter={filter}
            id={`${id}${filter.key}`}
            value={valueOf(search, filter.key)}
            onChange={(value) => change({ [filter.key]: value })}
          />
          <button
            type="button"
            aria-label={`Remove the filter ${filter.label}`}
            onClick={() => remove(filter.key)}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
      {missing.length > 0 && (
        <Menu
          label="Add filter"
          items={missing.map(({ key, label: name }) => ({ name, onClick: () => add(key) }))}
          focusAfter={() => document.getElementById(`${id}${newest.current}`)}
        />
      )}
      {children}
      {range && (
        <span className={css.right}>
          <RangePicker {...range} />
        </span>
      )}
    </search>
  );
}

interface ControlProps {
  readonly filter: Filter;
  readonly id: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

function Control({ filter, ...rest }: ControlProps): ReactNode {
  const { label } = filter;
  if ('options' in filter)
    return <Select {...rest} label={label} options={filter.options} names={filter.names} />;
  return (
    <>
      <label htmlFor={rest.id}>{label}</label>
      {filter.of === 'tools' ? (
        <ToolControl label={label} {...rest} />
      ) : (
        <TypedInput {...rest} label={label} isNumber={filter.of === 'numbers'} />
      )}
    </>
  );
}

/** Tools that have executions. */
function ToolControl(props: Omit<ControlProps, 'filter'> & { readonly label: string }): ReactNode {
  const { data: options = [] } = useQuery(recordedToolsQuery);
  return (
    <Combobox {...props} className={css.input} options={options} nothing="No tool of this name was called" />
  );
}

interface TypedInputProps {
  readonly label: string;
  readonly id?: string;
  readonly value: string | undefined;
  readonly isNumber?: boolean;
  readonly placeholder?: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

const typingMs = 200;

/** A text field that takes effect when the typing pauses. */
function TypedInput({ label, id, value = '', isNumber = false, ...props }: TypedInputProps): ReactNode {
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  const send = useEffectEvent(() => {
    const isNone = typed === '' || (isNumber && !/^\d+(\.\d+)?$/.test(typed));
    sent.current = isNone ? '' : typed;
    props.onChange(isNone ? undefined : typed);
  });
  useEffect(() => {
    // Its own text comes back from the address, when more may have been typed.
    if (value !== sent.current) setTyped(value);
    sent.current = value;
  }, [value]);
  useEffect(() => {
    if (typed === value) return undefined;
    const timer = setTimeout(send, typingMs);
    return () => clearTimeout(timer);
  }, [typed, value]);
  return (
    <input
      id={id}
      type="search"
      className={css.input}
      aria-label={label}
      inputMode={isNumber ? 'decimal' : undefined}
      placeholder={props.placeholder}
      value={typed}
      onChange={({ target }) => setTyped(target.value)}
    />
  );
}

interface FilterTextProps extends Omit<TypedInputProps, 'id'> {
  /** Fills the available width. */
  readonly wide?: boolean;
}

/** A search field with its label as placeholder. */
export const FilterText = ({ wide = false, placeholder, ...rest }: FilterTextProps): ReactNode => (
  <span className={`${css.text} ${wide ? css.wide : ''}`}>
    <Icon name="search" />
    <TypedInput {...rest} placeholder={placeholder ?? rest.label} />
  </span>
);
