import { type KeyboardEvent, type ReactNode, type Ref, useState } from 'react';
import { Button } from '../../ui/controls.js';
import css from './assistant.module.css';

interface ComposerProps {
  readonly ref: Ref<HTMLTextAreaElement>;
  readonly initial: string;
  readonly isRunning: boolean;
  /** The new message replaces an earlier one. */
  readonly isRewinding: boolean;
  readonly onSay: (message: string) => void;
  readonly onStop: () => void;
  readonly onCancel: () => void;
}

export function Composer(props: ComposerProps): ReactNode {
  const { ref, initial, isRunning, isRewinding, onSay, onStop, onCancel } = props;
  const [text, setText] = useState(initial);
  const send = (): void => {
    if (isRunning || text.trim() === '') return;
    setText('');
    onSay(text.trim());
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <div className={css.composer}>
      <textarea
        ref={ref}
        aria-label="Message"
        placeholder="Ask the assistant"
        rows={Math.min(8, Math.max(2, text.split('\n').length))}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={onKeyDown}
      />
      <div className={css.buttons}>
        {isRewinding && (
          <Button small onClick={onCancel}>
            Cancel
          </Button>
        )}
        {isRunning ? (
          <Button small onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button small look="primary" disabled={text.trim() === ''} onClick={send}>
            {isRewinding ? 'Send instead' : 'Send'}
          </Button>
        )}
      </div>
    </div>
  );
}
