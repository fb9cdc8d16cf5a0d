import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef } from 'react';
import type { LogEntryView } from '../lib/api.js';
import { duration } from '../lib/format.js';
import { AnsiText } from './ansi-text.js';
import css from './log-lines.module.css';

interface LogLinesProps {
  readonly label: string;
  readonly lines: readonly LogEntryView[];
  /** Keeps the newest line visible. */
  readonly follows: boolean;
  readonly onFollow?: (follows: boolean) => void;
}

const rowHeight = 20;
/** Longer lines are truncated; the downloaded log has them in full. */
const shownCharacters = 4_000;

/** Lines of a log; only visible ones are rendered. Scrolling up stops following. */
export function LogLines({ label, lines, follows, onFollow }: LogLinesProps): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: 20,
  });
  useEffect(() => {
    if (follows && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: 'end' });
  }, [follows, lines, virtual]);
  return (
    <div
      ref={frame}
      className={css.frame}
      role="log"
      aria-label={label}
      tabIndex={0}
      onWheel={({ deltaY }) => deltaY < 0 && onFollow?.(false)}
      onKeyDown={({ key }) => ['ArrowUp', 'PageUp', 'Home'].includes(key) && onFollow?.(false)}
    >
      <div className={css.all} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const line = lines[index];
          return (
            line && (
              <div
                key={line.id}
                ref={virtual.measureElement}
                data-index={index}
                className={css.line}
                data-level={line.level}
                style={{ top: start }}
              >
                <time dateTime={line.timestamp}>{line.timestamp.slice(11, 23)}</time>
                <span className={css.event}>{line.event}</span>
                <LineText line={line} />
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}

function LineText({ line }: { readonly line: LogEntryView }): ReactNode {
  const text = textOf(line);
  return (
    <span className={css.text}>
      <AnsiText>{text.slice(0, shownCharacters)}</AnsiText>
      {text.length > shownCharacters && ' …'}
      {line.executionId !== undefined && (
        <>
          {' '}
          <Link to="/executions/$id" params={{ id: line.executionId }}>
            execution
          </Link>
        </>
      )}
    </span>
  );
}

/** An entry's text: its message and the members of its event that the message does not contain. */
export function textOf({ message, error, reason, exitCode, signal, durationMs, pid }: LogEntryView): string {
  const facts = [
    error,
    reason,
    exitCode === undefined || exitCode === null ? undefined : `exit code ${exitCode}`,
    signal ?? undefined,
    durationMs === undefined ? undefined : duration(durationMs),
    message === undefined && pid !== undefined ? `process ${pid}` : undefined,
  ].filter((fact) => fact !== undefined && message?.includes(fact) !== true);
  return [...new Set([message, ...facts])].filter((part) => part !== undefined).join(' · ');
}
