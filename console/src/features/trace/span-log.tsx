import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { AskedToolView, MessageView, SpanView } from '../../lib/api.js';
import { duration, number } from '../../lib/format.js';
import { Button } from '../../ui/controls.js';
import { Muted } from '../../ui/layout.js';
import { Empty, Loaded, More } from '../../ui/states.js';
import { Conversation } from './conversation.js';
import { logQuery } from './queries.js';
import type { TraceProps } from './trace-store.js';
import css from './trace.module.css';

/** Messages of models and tools, in order. Each is shown once, although later requests repeat it. */
export function SpanLog({ id, store, state }: TraceProps & { readonly id: string }): ReactNode {
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
                <Entry key={entry.span.span_id} {...{ store, state, ...entry }} />
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
  readonly messages: readonly MessageView[];
}

/** Spans with the messages that are new in them. A result stands at its call, in whichever span. */
function entriesOf(spans: readonly SpanView[]): LogEntry[] {
  const all = spans.flatMap(({ messages = [] }) => messages);
  const calls = all.flatMap((message) => message.calls);
  const results = new Map([
    ...all.map(({ answers, text }) => [answers, text] as const),
    ...calls.flatMap(({ id, result }) => (result === null ? [] : [[id, result] as const])),
  ]);
  const known = new Set<string | null>(calls.map(({ id }) => id));
  const isNew = ({ role, text, calls: asked, answers }: MessageView): boolean => {
    const key = JSON.stringify([role, text, asked.map(({ name, input }) => [name, input])]);
    return !(answers !== null && known.has(answers)) && !known.has(key) && known.add(key).has(key);
  };
  return spans.flatMap((span) => {
    const messages = span.kind === 'tool' ? span.messages : span.messages?.filter(isNew);
    if (!messages?.length) return [];
    const withResult = (call: AskedToolView) => ({
      ...call,
      result: call.result ?? results.get(call.id) ?? null,
    });
    return [{ span, messages: messages.map((each) => ({ ...each, calls: each.calls.map(withResult) })) }];
  });
}

function Entry({ span, messages, store, state }: LogEntry & TraceProps): ReactNode {
  const place = store.trace.placeOf(span.span_id);
  const { semantic_pattern: pattern } = span;
  const name = (span.kind === 'tool' ? span.tool_name : span.model) ?? span.operation_name;
  return (
    <article className={css.entry} data-selected={place === state.selected ? '' : undefined}>
      <header>
        <Button small look="quiet" onClick={() => store.select(place)}>
          {name}
        </Button>
        <Muted>{duration(span.duration_ms)}</Muted>
        {span.error_message !== null && <span className={css.error}>{span.error_message}</span>}
        {pattern !== null && <span className={css.semantic}>finding: “{pattern}”</span>}
      </header>
      <Conversation messages={messages} />
    </article>
  );
}
