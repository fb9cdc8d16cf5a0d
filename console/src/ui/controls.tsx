import { type ComponentProps, type ReactNode, useId } from 'react';
import css from './controls.module.css';

type Look = 'primary' | 'danger' | 'quiet';

export const buttonLook = (look?: Look, small = false): string =>
  [css.button, look && css[look], small && css.small].filter(Boolean).join(' ');

interface ButtonProps extends ComponentProps<'button'> {
  readonly look?: Look;
  readonly small?: boolean;
}

export function Button({ look, small, className, ...rest }: ButtonProps): ReactNode {
  return <button type="button" className={`${buttonLook(look, small)} ${className ?? ''}`} {...rest} />;
}

interface Labelled {
  readonly label: string;
  readonly help?: ReactNode;
  readonly wrong?: string | undefined;
}

interface FieldProps extends Labelled {
  /** Renders the control with the attributes that link it to its label, help and error. */
  readonly children: (tie: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': true | undefined;
  }) => ReactNode;
}

export function Field({ label, help, wrong, children }: FieldProps): ReactNode {
  const id = useId();
  const about = help !== undefined || wrong !== undefined ? `${id}-about` : undefined;
  return (
    <div className={css.field}>
      <label className={css.label} htmlFor={id}>
        {label}
      </label>
      {children({ id, 'aria-describedby': about, 'aria-invalid': wrong === undefined ? undefined : true })}
      {about !== undefined && (
        <div id={about}>
          {wrong !== undefined && <p className={css.wrong}>{wrong}</p>}
          {help !== undefined && <p className={css.help}>{help}</p>}
        </div>
      )}
    </div>
  );
}

interface TextFieldProps extends Labelled, Omit<ComponentProps<'input'>, 'onChange'> {
  readonly onText: (value: string) => void;
}

export function TextField({ label, help, wrong, onText, ...rest }: TextFieldProps): ReactNode {
  return (
    <Field label={label} help={help} wrong={wrong}>
      {(tie) => <input {...rest} {...tie} onChange={({ target }) => onText(target.value)} />}
    </Field>
  );
}

interface TextAreaProps extends Labelled, Omit<ComponentProps<'textarea'>, 'onChange' | 'value'> {
  readonly value: string;
  readonly onText: (value: string) => void;
}

const maxRows = 10;

/** A multi-line text field that grows with its content, up to `maxRows`. */
export function TextArea({ label, help, wrong, value, onText, rows = 2, ...rest }: TextAreaProps): ReactNode {
  const height = Math.min(maxRows, Math.max(rows, value.split('\n').length));
  return (
    <Field label={label} help={help} wrong={wrong}>
      {(tie) => (
        <textarea
          {...{ ...rest, ...tie, value, rows: height }}
          onChange={({ target }) => onText(target.value)}
        />
      )}
    </Field>
  );
}

interface CheckboxProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

export const Checkbox = ({ label, checked, onChange }: CheckboxProps): ReactNode => (
  <label className={css.checkbox}>
    <input type="checkbox" checked={checked} onChange={({ target }) => onChange(target.checked)} />
    {label}
  </label>
);

export type Tone = 'good' | 'warn' | 'bad' | 'none';

const tones: Readonly<Record<string, Tone>> = {
  success: 'good',
  completed: 'good',
  healthy: 'good',
  active: 'good',
  closed: 'good',
  up: 'good',
  degraded: 'warn',
  half_open: 'warn',
  timeout: 'warn',
  running: 'warn',
  error: 'bad',
  failed: 'bad',
  unhealthy: 'bad',
  open: 'bad',
};

export const toneOf = (state: string): Tone => tones[state] ?? 'none';

/** A state in words. An unknown grade means too few calls. */
export const stateName = (state: string): string =>
  state === 'unknown' ? 'not graded' : state.replaceAll('_', '-');

/** A state as a word and a colour, because not everybody can see the colour. */
export function Badge({ state, tone }: { readonly state: string; readonly tone?: Tone }): ReactNode {
  const look = tone ?? toneOf(state);
  return <span className={`${css.badge} ${look === 'none' ? '' : css[look]}`}>{stateName(state)}</span>;
}

export function Tag({ children }: { readonly children: ReactNode }): ReactNode {
  return <span className={css.tag}>{children}</span>;
}

export const Tags = ({ words }: { readonly words: readonly string[] }): ReactNode => (
  <span className={css.tags}>
    {words.map((word, index) => (
      <Tag key={index}>{word}</Tag>
    ))}
  </span>
);
