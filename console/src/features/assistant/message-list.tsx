import { CatchBoundary } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useRef } from 'react';
import { Button } from '../../ui/controls.js';
import { useCopy } from '../../ui/use-copy.js';
import css from './assistant.module.css';
import { CallCard } from './call-card.js';
import { KnownIds, ModelText } from './markdown.js';
import type { Thread, ThreadState } from './thread.js';
import { idsIn, textOf, type UiMessage } from './ui-message.js';

interface MessageListProps {
  readonly thread: Thread;
  readonly state: ThreadState;
  readonly onRewind: (message: UiMessage) => void;
}

/** Closer to its end than this, a list follows what comes. */
const nearEnd = 80;

export function MessageList({ thread, state, onRewind }: MessageListProps): ReactNode {
  const { messages, error, state: status } = state;
  const isRunning = status === 'running';
  const list = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const ids = useMemo(() => idsIn(messages), [messages]);
  useEffect(() => {
    const box = list.current;
    if (box && isAtEnd.current) box.scrollTop = box.scrollHeight;
  }, [messages, error]);
  const onScroll = (): void => {
    const box = list.current;
    if (box) isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < nearEnd;
  };
  return (
    <KnownIds value={ids}>
      <div
        ref={list}
        className={css.messages}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-label="Messages"
      >
        {messages.map((message) => (
          <CatchBoundary
            key={message.id}
            getResetKey={() => message}
            errorComponent={() => <Unreadable message={message} />}
          >
            {message.role === 'user' ? (
              <Question message={message} isRunning={isRunning} onRewind={onRewind} />
            ) : (
              <Answer message={message} thread={thread} isRunning={isRunning} />
            )}
          </CatchBoundary>
        ))}
        {isRunning && (
          <p className={css.working} role="status">
            Working …
          </p>
        )}
        {status === 'stopped' && <p className={css.working}>You stopped this turn.</p>}
        {error !== null && (
          <p className={css.error} role="alert">
            {error}
          </p>
        )}
        {['failed', 'stopped', 'interrupted'].includes(status) && state.id !== undefined && (
          <div>
            <Button small onClick={() => void thread.retry()}>
              Retry
            </Button>
          </div>
        )}
      </div>
    </KnownIds>
  );
}

/** Takes the place of a message that cannot be rendered: the others, and the chat, stay as they are. */
const Unreadable = ({ message }: { readonly message: UiMessage }): ReactNode => (
  <article className={css.answer} aria-label="Message that cannot be shown">
    <p className={css.error}>This message cannot be shown as it was meant. Its text:</p>
    <pre tabIndex={0}>{textOf(message)}</pre>
  </article>
);

interface QuestionProps {
  readonly message: UiMessage;
  readonly isRunning: boolean;
  readonly onRewind: (message: UiMessage) => void;
}

const Question = ({ message, isRunning, onRewind }: QuestionProps): ReactNode => (
  <article className={css.question} aria-label="You">
    <p>{textOf(message)}</p>
    {!isRunning && !message.id.startsWith('new-') && (
      <Button small look="quiet" onClick={() => onRewind(message)}>
        Edit
      </Button>
    )}
  </article>
);

interface AnswerProps {
  readonly message: UiMessage;
  readonly thread: Thread;
  readonly isRunning: boolean;
}

function Answer({ message, thread, isRunning }: AnswerProps): ReactNode {
  const copy = useCopy();
  const text = textOf(message);
  return (
    <article className={css.answer} aria-label="Assistant">
      {message.parts.map((part, place) =>
        part.type === 'text' ? (
          <ModelText key={place} text={part.text} />
        ) : (
          part.type === 'dynamic-tool' && (
            <CallCard
              key={part.toolCallId}
              call={part}
              isRunning={isRunning}
              onDecide={(approve) => void thread.approve(part.toolCallId, approve, part.approval?.id)}
            />
          )
        ),
      )}
      {!isRunning && text !== '' && (
        <div>
          <Button small look="quiet" onClick={() => void copy(text, 'The answer as Markdown')}>
            Copy
          </Button>
        </div>
      )}
    </article>
  );
}
