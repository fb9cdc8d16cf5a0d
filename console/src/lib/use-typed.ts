import { useEffect, useRef, useState } from 'react';

/**
 * A text that stands for a value while it is typed: it is not rewritten under the fingers of whoever types, only when
 * the value changes from elsewhere.
 */
export function useTyped(value: string, onText: (text: string) => void): [string, (text: string) => void] {
  const [typed, setTyped] = useState(value);
  const isOwn = useRef(false);
  useEffect(() => {
    if (!isOwn.current) setTyped(value);
    isOwn.current = false;
  }, [value]);
  return [
    typed,
    (text) => {
      isOwn.current = true;
      setTyped(text);
      onText(text);
    },
  ];
}
