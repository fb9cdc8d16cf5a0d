import { type ReactNode, Suspense, useMemo } from 'react';
import { bytes } from '../lib/format.js';
import { CodeMirror } from './code-editor.js';
import { Button } from './controls.js';
import css from './json-text.module.css';
import { useCopy } from './use-copy.js';

interface JsonTextProps {
  readonly label: string;
  readonly value: unknown;
  /** Renders the text; absent: as it is. */
  readonly children?: (text: string) => ReactNode;
}

/** Max characters, because browsers draw more slowly. The whole text can be downloaded. */
const shownCharacters = 200_000;

/** A value as indented JSON that can be folded, or a text as it is. */
export function JsonText({ label, value, children }: JsonTextProps): ReactNode {
  const copy = useCopy();
  const text = useMemo(
    () => (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'nothing')),
    [value],
  );
  const isCut = text.length > shownCharacters;
  const shown = isCut ? `${text.slice(0, shownCharacters)}\n…` : text;
  const plain = (
    <pre className={css.text} tabIndex={0} aria-label={label}>
      {children ? children(shown) : shown}
    </pre>
  );
  return (
    <div className={css.frame}>
      <div className={css.tools}>
        <Button small look="quiet" onClick={() => void copy(text, label)}>
          Copy
        </Button>
        {isCut && (
          <Button small look="quiet" onClick={() => download(label, text)}>
            Download all {bytes(text.length)}
          </Button>
        )}
      </div>
      {isCut || children || typeof value === 'string' ? (
        plain
      ) : (
        <Suspense fallback={plain}>
          <CodeMirror label={label} value={text} />
        </Suspense>
      )}
    </div>
  );
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${name.toLowerCase().replaceAll(' ', '-')}.json`;
  link.click();
  URL.revokeObjectURL(url);
}
