import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import css from './clamped.module.css';

/** Two lines of a text, and a button that shows the rest. */
export function Clamped({ text }: { readonly text: string }): ReactNode {
  const shown = useRef<HTMLSpanElement>(null);
  const [isCut, setCut] = useState(false);
  const [isOpen, setOpen] = useState(false);
  useLayoutEffect(() => {
    const element = shown.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setCut(element.scrollHeight > element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, [text]);
  return (
    <>
      <span ref={shown} className={isOpen ? undefined : css.clamped}>
        {text}
      </span>
      {(isCut || isOpen) && (
        <button type="button" className={css.more} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'less' : 'more'}
        </button>
      )}
    </>
  );
}
