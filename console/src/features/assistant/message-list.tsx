import { CatchBoundary, Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useRef } from 'react';
import { duration } from '../../lib/format.js';
import { Badge, Button } from '../../ui/controls.js';
import { Row } from '../../ui/layout.js';
import { Questions } from '../../ui/question-form.js';
import { useCopy } from '../../ui/use-copy.js';
import css from './assistant.module.css';
import { KnownIds, ModelText } from './markdown.js';
import type { Thread, ThreadState } from './thread.js';
import { linksById, textOf } from './message-contents.js';
import type { CallPart, UiMessage } from './ui-message.js';

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
  const ids = useMemo(() => linksById(messages), [messages]);
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
    <p className={css.error}>This message cannot be formatted. Its text:</p>
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

interface CallCardProps {
  readonly call: CallPart;
  readonly isRunning: boolean;
  readonly onDecide: (approve: boolean) => void;
}

const words: Readonly<Record<string, string>> = {
  'input-available': 'not finished',
  'approval-requested': 'waits for you',
  'approval-responded': 'agreed, not finished',
  'output-error': 'not run',
  'output-denied': 'declined',
};

const tones: Readonly<Record<string, 'good' | 'warn' | 'bad' | 'none'>> = {
  success: 'good',
  running: 'none',
  'waits for you': 'warn',
  error: 'bad',
  timeout: 'bad',
};

/** One call of a tool: its input, its result and time, and the way to its execution. */
function CallCard({ call, isRunning, onDecide }: CallCardProps): ReactNode {
  const { toolName, input, output, state, errorText } = call;
  const isOpen = state === 'input-available' || (state === 'approval-responded' && call.approval?.approved);
  const question = isRunning && state !== 'output-available' ? call.question : undefined;
  const status =
    output?.status ??
    (question ? 'waits for you' : isOpen && isRunning ? 'running' : (words[state] ?? state));
  const result = output?.error
    ? `${output.error.type}: ${output.error.message}`
    : (output?.result ?? errorText);
  const asks = state === 'approval-requested';
  return (
    <div className={css.call} data-asks={asks || undefined}>
      <details open={asks}>
        <summary>
          <bdi className={css.tool}>{toolName}</bdi>
          <Badge state={status} tone={tones[status] ?? 'none'} />
          {output?.executionTimeMs !== undefined && (
            <span className={css.time}>{duration(output.executionTimeMs)}</span>
          )}
        </summary>
        <Json label={`Input of ${toolName}`} value={input} />
        {result !== undefined && <Json label={`Result of ${toolName}`} value={result} />}
        {output?.executionId !== undefined && (
          <Link to="/executions/$id" params={{ id: output.executionId }}>
            Execution
          </Link>
        )}
      </details>
      {question && <Questions questions={[question]} drop={() => undefined} />}
      {asks && (
        <div role="group" aria-label={`Approval of ${toolName}`} className={css.approval}>
          {call.approval?.note !== undefined && <span>{call.approval.note}</span>}
          <span>This call may change something or reach other hosts. Run it?</span>
          <Row>
            <Button small look="primary" disabled={isRunning} onClick={() => onDecide(true)}>
              Approve
            </Button>
            <Button small disabled={isRunning} onClick={() => onDecide(false)}>
              Decline
            </Button>
          </Row>
        </div>
      )}
    </div>
  );
}

const shownCharacters = 20_000;

/** Text that tools wrote is shown as text. */
function Json({ label, value }: { readonly label: string; readonly value: unknown }): ReactNode {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'nothing');
  return (
    <pre className={css.json} tabIndex={0} aria-label={label}>
      {text.length > shownCharacters ? `${text.slice(0, shownCharacters)}\n…` : text}
    </pre>
  );
}
