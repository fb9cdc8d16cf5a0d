import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { SpanView } from '../../lib/api.js';
import { cost, duration, number } from '../../lib/format.js';
import { executionQuery } from '../../lib/queries.js';
import { AskButton } from '../../ui/ask-button.js';
import { Badge } from '../../ui/controls.js';
import { JsonText } from '../../ui/json-text.js';
import { Facts, Muted, Note, Stack } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { Empty, Loaded } from '../../ui/states.js';
import { Conversation } from './conversation.js';
import { MarkAct } from './mark-act.js';
import { messagesOf, paired } from './messages.js';
import { spanQuery } from './queries.js';
import css from './span-pane.module.css';

const tabs = {
  messages: 'Messages',
  texts: 'Input/Output',
  attributes: 'Attributes',
  semantic: 'Semantic errors',
  raw: 'Raw',
} as const;
type Tab = keyof typeof tabs;

interface SpanPaneProps {
  readonly trace: string;
  readonly span: string;
}

/** One span: its figures, what it carried, and the execution that it tells of. */
export function SpanPane({ trace, span }: SpanPaneProps): ReactNode {
  const query = useQuery(spanQuery(trace, span));
  const [chosen, setTab] = useState<Tab>();
  return (
    <section className={css.pane} aria-label="Span" tabIndex={0}>
      <Loaded query={query}>
        {(data) => {
          if (data === null) return <Empty title="This span is no longer kept" />;
          const tab = chosen ?? (data.kind === 'llm' ? 'messages' : 'texts');
          return (
            <Stack tight>
              <SpanHead span={data} />
              <div>
                <AskButton question={`What happened in the span \`${data.span_id}\`?`} />
              </div>
              <Modes label="Parts of the span" names={tabs} value={tab} onChange={setTab} />
              <Part span={data} tab={tab} />
            </Stack>
          );
        }}
      </Loaded>
    </section>
  );
}

function SpanHead({ span }: { readonly span: SpanView }): ReactNode {
  const { input_tokens: asked, output_tokens: answered, cached_tokens: cached, ttft_ms: ttft } = span;
  return (
    <>
      <h2>
        {span.tool_name ?? span.model ?? span.operation_name}{' '}
        {span.status === 'error' && <Badge state="error" />}
      </h2>
      {span.error_message !== null && <Note tone="bad">{span.error_message}</Note>}
      {span.execution_id !== null && <ExecutionOf id={span.execution_id} />}
      {span.kind === 'llm' && (
        <div className={css.links}>
          <Link to="/experiments/new" search={{ span: span.span_id, trace: span.trace_id }}>
            New experiment
          </Link>
        </div>
      )}
      <Facts
        facts={[
          ['Operation', span.operation_name],
          ['Kind', span.kind],
          ['Duration', duration(span.duration_ms)],
          ['First token', ttft !== null && duration(ttft)],
          [
            'Tokens',
            (asked ?? answered) !== null && `${number(asked ?? 0)} in, ${number(answered ?? 0)} out`,
          ],
          ['Cached tokens', cached !== null && number(cached)],
          [
            'Cost',
            span.cost !== null && `${cost(span.cost)}${span.cost_source === 'computed' ? ' (computed)' : ''}`,
          ],
          ['Label', span.label],
          ['Id', <code key="id">{span.span_id}</code>],
        ]}
      />
    </>
  );
}

/** The execution of a span, and the way to the health and the circuit of its tool. */
function ExecutionOf({ id }: { readonly id: string }): ReactNode {
  const { data } = useQuery(executionQuery(id));
  return (
    <Stack tight>
      {typeof data?.semanticFailure === 'string' && (
        <Note tone="warn">Marked as semantic failure: {data.semanticFailure}</Note>
      )}
      <div className={css.links}>
        <Link to="/executions/$id" params={{ id }}>
          Execution
        </Link>
        {data && (
          <>
            <Link to="/tools/$name/health" params={{ name: data.toolName }}>
              Tool health
            </Link>
            <Link to="/tools/$name/circuit" params={{ name: data.toolName }}>
              Circuit
            </Link>
            <MarkAct execution={data} />
          </>
        )}
      </div>
    </Stack>
  );
}

interface PartProps {
  readonly span: SpanView;
  readonly tab: Tab;
}

function Part({ span, tab }: PartProps): ReactNode {
  const { input = '', output = '', attribute = {} } = span;
  if (tab === 'raw') return <JsonText label="Span" value={span} />;
  if (tab === 'attributes') return <Attributes attributes={attribute} />;
  if (tab === 'semantic') return <SemanticError span={span} />;
  if (tab === 'messages') {
    const messages = span.kind === 'tool' ? [] : paired(messagesOf(span));
    if (messages.length === 0) return <Empty title="No messages in this span" />;
    return <Conversation messages={messages} />;
  }
  if (input === '' && output === '') return <Empty title="No input or output in this span" />;
  return (
    <>
      <h3>Input</h3>
      {input === '' ? <Muted>none</Muted> : <JsonText label="Input" value={indented(input)} />}
      <h3>Output</h3>
      {output === '' ? <Muted>none</Muted> : <JsonText label="Output" value={indented(output)} />}
    </>
  );
}

/** Numbers are not read: one that JavaScript would round stays as it came. */
function indented(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? value : text;
  } catch {
    return text;
  }
}

const maxAttributes = 200;

function Attributes({ attributes }: { readonly attributes: Record<string, unknown> }): ReactNode {
  const all = Object.entries(attributes);
  if (all.length === 0) return <Empty title="No attributes in this span" />;
  return (
    <>
      <Facts facts={all.slice(0, maxAttributes).map(([name, value]) => [name, shown(value)] as const)} />
      {all.length > maxAttributes && <Muted>{`${number(all.length - maxAttributes)} more under Raw`}</Muted>}
    </>
  );
}

const maxShown = 2_000;

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > maxShown ? `${text.slice(0, maxShown)} … (whole under Raw)` : text;
}

function SemanticError({ span }: { readonly span: SpanView }): ReactNode {
  const { semantic_pattern: pattern, semantic_snippet: snippet } = span;
  if (pattern === null) return <Empty title="No semantic error was found in this span" />;
  return (
    <Stack tight>
      <Facts
        facts={[
          ['Found', pattern],
          ['Severity', span.semantic_severity],
          ['In', span.semantic_source],
        ]}
      />
      <blockquote className={css.snippet}>
        <Marked text={snippet ?? ''} pattern={pattern} />
      </blockquote>
    </Stack>
  );
}

/** A text with the first place that holds the pattern; a `*` in it stands for anything short. */
function Marked({ text, pattern }: { readonly text: string; readonly pattern: string }): ReactNode {
  const [start = '', ...rest] = pattern.toLowerCase().split('*');
  const from = text.toLowerCase().indexOf(start);
  const last = rest.at(-1) ?? '';
  const end = from < 0 ? -1 : text.toLowerCase().indexOf(last, from + start.length);
  if (from < 0 || end < 0) return text;
  const to = end + last.length;
  return (
    <>
      {text.slice(0, from)}
      <mark>{text.slice(from, to)}</mark>
      {text.slice(to)}
    </>
  );
}
