import { useState } from 'react';

/** Conversions between a value and its text. */
export interface TextForm<T> {
  readonly read: (text: string) => T;
  readonly write: (value: T) => string;
}

/**
 * A text that stands for a value while it is typed: it stays as it was typed for as long as it means the value, and is
 * written again when the value comes from elsewhere.
 */
export function useTyped<T>(
  value: T,
  { read, write }: TextForm<T>,
  onChange: (value: T) => void,
): [string, (text: string) => void] {
  const [typed, setTyped] = useState(() => write(value));
  const written = write(value);
  return [
    write(read(typed)) === written ? typed : written,
    (text) => {
      setTyped(text);
      onChange(read(text));
    },
  ];
}
