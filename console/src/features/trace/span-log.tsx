import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { SpanView } from '../../lib/api.js';
import { duration, number } from '../../lib/format.js';
import { Button } from '../../ui/controls.js';
import { Muted } from '../../ui/layout.js';
import { Empty, Loaded, More } from '../../ui/states.js';
import { Conversation, ToolUse } from './conversation.js';
import { keyOf, messagesOf, paired } from './messages.js';
import { logQuery } from './queries.js';
import type { TraceState, TraceStore } from './trace-store.js';
import css from './span-log.module.css';

interface SpanLogProps {
  readonly id: string;
  readonly store: TraceStore;
  readonly state: TraceState;
}

/** Messages of models and tools, in order. Each is shown once, although later requests repeat it. */
export function SpanLog({ id, store, state }: SpanLogProps): ReactNode {
  const { axis, isZoomed } = state;
  const at = (ms: number): number => Math.round(store.trace.startUs + ms * 1_000);
  const range = isZoomed ? { start_time: at(axis.from), end_time: at(axis.to) } : {};
  const log = useInfiniteQuery(logQuery(id, range));
  return (
    <div className={css.log} role="region" aria-label="Log" tabIndex={0}>
      <Loaded query={log}>
        {({ pages }) => {
          const spans = pages.flatMap(({ data }) => data);
          const entries = entriesOf(spans);
          const { total = 0 } = pages.at(-1)?.pagination ?? {};
          return (
            <>
              {entries.length === 0 && <Empty title="No messages in these spans" />}
              {entries.map((entry) => (
                <Entry key={entry.span.span_id} store={store} state={state} {...entry} />
              ))}
              <More list={log} name={`Load more: ${number(spans.length)} of ${number(total)} spans`} />
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

interface LogEntry {
  readonly span: SpanView;
  readonly messages: ReturnType<typeof messagesOf>;
}

/** Calls of models with the messages that are new in them, and calls of tools. */
function entriesOf(spans: readonly SpanView[]): LogEntry[] {
  const known = new Set<string>();
  const entries = spans.flatMap((span) => {
    if (span.kind === 'tool') return [{ span, messages: [] }];
    if (span.kind !== 'llm') return [];
    const messages = messagesOf(span).filter((message) => !known.has(keyOf(message)));
    for (const message of messages) known.add(keyOf(message));
    return messages.length > 0 ? [{ span, messages }] : [];
  });
  const all = entries.flatMap(({ messages }) => messages);
  return entries
    .map(({ span, messages }) => ({ span, messages: paired(messages, all) }))
    .filter(({ span, messages }) => span.kind === 'tool' || messages.length > 0);
}

function Entry({ span, messages, store, state }: LogEntry & Omit<SpanLogProps, 'id'>): ReactNode {
  const place = store.trace.placeOf(span.span_id);
  const { input = '', output = '' } = span;
  const name = (span.kind === 'tool' ? span.tool_name : span.model) ?? span.operation_name;
  return (
    <article className={css.entry} data-selected={place === state.selected ? '' : undefined}>
      <header>
        <Button small look="quiet" onClick={() => store.select(place)}>
          {name}
        </Button>
        <Muted>{duration(span.duration_ms)}</Muted>
        {span.error_message !== null && <span className={css.error}>{span.error_message}</span>}
        {span.semantic_pattern !== null && (
          <span className={css.semantic}>semantic failure: “{span.semantic_pattern}”</span>
        )}
      </header>
      {span.kind === 'tool' ? (
        <ToolUse call={{ id: undefined, name: '', input, result: output || undefined }} />
      ) : (
        <Conversation messages={messages} />
      )}
    </article>
  );
}
