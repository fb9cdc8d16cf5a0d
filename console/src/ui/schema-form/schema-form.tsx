// The package's own entry also loads what only its tests need.
import Form from '@rjsf/core/lib/components/Form.js';
import {
  type ArrayFieldItemTemplateProps,
  errorId,
  type ErrorSchema,
  type FieldErrorProps,
  type IconButtonProps,
  type MultiSchemaFieldTemplateProps,
  type RJSFSchema,
  type TemplatesType,
} from '@rjsf/utils';
import { type ReactNode, useMemo } from 'react';
import type { FieldProblemView } from '../../lib/api.js';
import { schemaValidator } from '../../lib/schema-validator.js';
import { Button } from '../controls.js';
import css from './schema-form.module.css';
import { widgets } from './widgets.js';

interface SchemaFormProps {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  /** The server's problems by pointers below `/input`: they stand at the fields. */
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

/** Each error stands once, also where it was found on leaving a field and again by running. */
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

/** Fields for what a JSON Schema asks for. */
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

/** The form reads every dialect in the same way; an unknown name would only make it stumble. */
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
  const root: ErrorSchema = {};
  for (const { pointer, detail } of problems) {
    let at: Record<string, ErrorSchema | undefined> & ErrorSchema = root;
    for (const part of pointer.split('/').slice(2)) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      at = at[name] ??= {};
    }
    at.__errors = [...(at.__errors ?? []), detail];
  }
  return root;
}
