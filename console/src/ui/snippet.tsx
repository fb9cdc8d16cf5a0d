import type { ReactNode } from 'react';
import { Button } from './controls.js';
import css from './snippet.module.css';
import { useCopy } from './use-copy.js';

interface SnippetProps {
  readonly name: string;
  readonly text: string;
}

/** A text for a shell or a file, with a button to copy it. */
export function Snippet({ name, text }: SnippetProps): ReactNode {
  const copy = useCopy();
  return (
    <div className={css.snippet}>
      <pre tabIndex={0} aria-label={name}>
        {text}
      </pre>
      <Button small look="quiet" aria-label={`Copy ${name}`} onClick={() => void copy(text, name)}>
        Copy
      </Button>
    </div>
  );
}
