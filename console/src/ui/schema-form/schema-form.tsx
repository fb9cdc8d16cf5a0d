import Form from '@rjsf/core/lib/components/Form.js';
import NumberField from '@rjsf/core/lib/components/fields/NumberField.js';
import CheckboxesWidget from '@rjsf/core/lib/components/widgets/CheckboxesWidget.js';
import SelectWidget from '@rjsf/core/lib/components/widgets/SelectWidget.js';
import TextWidget from '@rjsf/core/lib/components/widgets/TextWidget.js';
import {
  type ArrayFieldItemTemplateProps,
  errorId,
  type ErrorSchema,
  ErrorSchemaBuilder,
  type FieldErrorProps,
  type FieldProps,
  type IconButtonProps,
  type MultiSchemaFieldTemplateProps,
  type RJSFSchema,
  type TemplatesType,
  type WidgetProps,
  type UnsupportedFieldProps,
} from '@rjsf/utils';
import { type ReactNode, useMemo, useRef, useState } from 'react';
import type { FieldProblemView } from '../../lib/api.js';
import { bytes } from '../../lib/format.js';
import { schemaValidator } from '../../lib/schema-validator.js';
import { Button } from '../controls.js';
import { useFailed } from '../toasts.js';
import css from './schema-form.module.css';

interface SchemaFormProps {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  /** The server's problems, by pointers below `/input`. They are shown at the fields. */
  readonly problems: readonly FieldProblemView[];
}

const named =
  (name: string) =>
  ({ onClick, disabled, id }: IconButtonProps): ReactNode => (
    <Button small look="quiet" id={id} onClick={onClick} disabled={disabled}>
      {name}
    </Button>
  );

const Item = ({ children, buttonsProps, hasToolbar, registry }: ArrayFieldItemTemplateProps): ReactNode => {
  const { ArrayFieldItemButtonsTemplate: Buttons } = registry.templates;
  return (
    <div className={css.item}>
      <div>{children}</div>
      {hasToolbar && (
        <div className={css.itemButtons}>
          <Buttons {...buttonsProps} />
        </div>
      )}
    </div>
  );
};

/** Shows each error once, even if leaving the field and running both found it. */
const FieldErrors = ({ errors = [], fieldPathId }: FieldErrorProps): ReactNode =>
  errors.length > 0 && (
    <ul id={errorId(fieldPathId)}>
      {[...new Set(errors)].map((error, index) => (
        <li key={index} className="text-danger">
          {error}
        </li>
      ))}
    </ul>
  );

const Alternatives = ({ selector, optionSchemaField }: MultiSchemaFieldTemplateProps): ReactNode => (
  <div className="panel">
    <label>
      Variant
      {selector}
    </label>
    {optionSchemaField}
  </div>
);

const templates: Partial<Omit<TemplatesType, 'ButtonTemplates'>> & {
  ButtonTemplates: Partial<TemplatesType['ButtonTemplates']>;
} = {
  ArrayFieldItemTemplate: Item,
  ErrorListTemplate: () => null,
  FieldErrorTemplate: FieldErrors,
  MultiSchemaFieldTemplate: Alternatives,
  UnsupportedFieldTemplate: ({ schema: { type }, reason }: UnsupportedFieldProps<unknown>) => (
    <p className="text-danger">
      {typeof type === 'string' ? `${JSON.stringify(type)} is no JSON type` : reason}: write this value as
      JSON
    </p>
  ),
  ButtonTemplates: {
    AddButton: named('Add'),
    CopyButton: named('Copy'),
    MoveDownButton: named('Down'),
    MoveUpButton: named('Up'),
    RemoveButton: named('Remove'),
    ClearButton: named('Clear'),
    SubmitButton: () => null,
  },
};

/** A form with the fields of a JSON Schema. */
export function SchemaForm({ schema, value, onChange, problems }: SchemaFormProps): ReactNode {
  const plainSchema = withoutDialect(schema);
  // The errors belong to the refused input, not to later changes.
  const refusals = useMemo(() => refusalsOf(problems, plainSchema, value), [problems]);
  return (
    <div className={css.form}>
      <Form
        tagName="div"
        schema={plainSchema}
        validator={schemaValidator}
        widgets={widgets}
        fields={fields}
        formData={value}
        templates={templates}
        extraErrors={refusals}
        extraErrorsBlockSubmit={false}
        liveValidate="onBlur"
        showErrorList={false}
        idPrefix="input"
        onChange={({ formData }) => onChange(formData)}
      />
    </div>
  );
}

/** The form reads all dialects in the same way, so the name of one, which it may not know, is left out. */
function withoutDialect({ $schema: _, ...schema }: Readonly<Record<string, unknown>>): RJSFSchema {
  return schema;
}

/** The form's own errors replace the server's for the same input, because only the form distinguishes alternatives. */
function refusalsOf(problems: SchemaFormProps['problems'], schema: RJSFSchema, value: unknown): ErrorSchema {
  if (problems.length === 0) return {};
  const { errors, errorSchema } = schemaValidator.validateFormData(value, schema);
  return errors.length > 0 ? errorSchema : errorsAt(problems);
}

function errorsAt(problems: readonly FieldProblemView[]): ErrorSchema {
  const builder = new ErrorSchemaBuilder();
  const nameOf = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');
  for (const { pointer, detail } of problems)
    builder.addErrors(detail, pointer.split('/').slice(2).map(nameOf));
  return builder.ErrorSchema;
}

/** Max options that are shown as a list. More are searched by typing. */
const maxListed = 20;

const Text = (props: WidgetProps): ReactNode => {
  const { const: fixed, contentEncoding } = props.schema;
  if (fixed !== undefined) return <output id={props.id}>{textOf(fixed)}</output>;
  return contentEncoding === 'base64' ? <FileContent {...props} /> : <TextWidget {...props} />;
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const Choice = (props: WidgetProps): ReactNode => {
  if (props.multiple === true) return <CheckboxesWidget {...props} />;
  const { length = 0 } = props.options.enumOptions ?? [];
  return length > maxListed ? <Searched {...props} /> : <SelectWidget {...props} />;
};

/** Keeps a number that JavaScript would round as the typed text, so that it is refused and not sent as another number. */
function ExactNumber(props: FieldProps): ReactNode {
  const typed = useRef('');
  const onChange: typeof props.onChange = (value, ...at) =>
    props.onChange(Math.abs(Number(value)) > Number.MAX_SAFE_INTEGER ? typed.current : value, ...at);
  return (
    <span
      style={{ display: 'contents' }}
      onInputCapture={({ target }) => (typed.current = (target as HTMLInputElement).value)}
    >
      <NumberField {...props} onChange={onChange} />
    </span>
  );
}

const fields = { NumberField: ExactNumber };
const widgets = { TextWidget: Text, SelectWidget: Choice };

/** One of many options. The schema refuses any other text. */
function Searched({ id, value, onChange, onBlur, options }: WidgetProps): ReactNode {
  const { enumOptions = [] } = options;
  const [typed, setTyped] = useState(() => enumOptions.find((each) => each.value === value)?.label ?? '');
  const take = (text: string): void => {
    setTyped(text);
    const option = enumOptions.find(({ label }) => label === text);
    onChange(option ? (option.value as unknown) : text || undefined);
  };
  return (
    <>
      <input
        id={id}
        list={`${id}-options`}
        placeholder={`Search ${enumOptions.length} options`}
        value={typed}
        onChange={({ target }) => take(target.value)}
        onBlur={() => onBlur(id, value)}
      />
      <datalist id={`${id}-options`}>
        {enumOptions.map(({ label }) => (
          <option key={label} value={label} />
        ))}
      </datalist>
    </>
  );
}

/** A file, whose bytes are sent as Base64. */
function FileContent({ id, value, onChange }: WidgetProps): ReactNode {
  const failed = useFailed();
  const text = typeof value === 'string' ? value : '';
  const take = (file: File | undefined): void => {
    if (file) base64Of(file).then(onChange, failed);
    else onChange(undefined);
  };
  return (
    <span className={css.file}>
      <input id={id} type="file" onChange={({ target }) => take(target.files?.[0])} />
      {text !== '' && <span>{bytes(Math.floor((text.replace(/=+$/, '').length * 3) / 4))} chosen</span>}
    </span>
  );
}

async function base64Of(file: File): Promise<string> {
  const content = new Uint8Array(await file.arrayBuffer());
  return btoa(Array.from(content, (byte) => String.fromCharCode(byte)).join(''));
}
