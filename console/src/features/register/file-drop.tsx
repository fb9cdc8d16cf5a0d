import { type DragEvent, type ReactNode, useState } from 'react';
import { buttonLook } from '../../ui/controls.js';
import { Muted, Row, Stack } from '../../ui/layout.js';
import { useFailed } from '../../ui/toasts.js';
import css from './register.module.css';

interface FileDropProps {
  readonly label: string;
  readonly onText: (text: string) => void;
  readonly children: ReactNode;
}

/** Takes the text of a file that is dropped on it, or chosen. */
export function FileDrop({ label, onText, children }: FileDropProps): ReactNode {
  const [isOver, setOver] = useState(false);
  const failed = useFailed();
  const take = (files: FileList | null): void => {
    files?.[0]?.text().then(onText, failed);
  };
  const drop = (event: DragEvent): void => {
    setOver(false);
    if (event.dataTransfer.files.length === 0) return;
    // The editor would put it where it was dropped.
    event.preventDefault();
    event.stopPropagation();
    take(event.dataTransfer.files);
  };
  const over = (event: DragEvent): void => {
    event.preventDefault();
    setOver(true);
  };
  return (
    <Stack tight>
      <Row>
        <label className={`${buttonLook(undefined, true)} ${css.choose}`}>
          {label}
          <input
            type="file"
            accept="application/json,.json"
            onChange={({ target }) => {
              take(target.files);
              target.value = '';
            }}
          />
        </label>
        <Muted>or drop it, or paste its text</Muted>
      </Row>
      <div
        className={css.drop}
        data-over={isOver ? '' : undefined}
        onDropCapture={drop}
        onDragOver={over}
        onDragLeave={() => setOver(false)}
      >
        {children}
      </div>
    </Stack>
  );
}
