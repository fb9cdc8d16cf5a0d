import CheckboxesWidget from '@rjsf/core/lib/components/widgets/CheckboxesWidget.js';
import SelectWidget from '@rjsf/core/lib/components/widgets/SelectWidget.js';
import TextWidget from '@rjsf/core/lib/components/widgets/TextWidget.js';
import type { WidgetProps } from '@rjsf/utils';
import { type ReactNode, useState } from 'react';
import { bytes } from '../../lib/format.js';
import { useFailed } from '../toasts.js';
import css from './schema-form.module.css';

/** A list of more options is searched by typing. */
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

export const widgets = { TextWidget: Text, SelectWidget: Choice };

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
