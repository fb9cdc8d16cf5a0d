import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ActButton } from '../../app/act-button.js';
import {
  type ExecutionView,
  markSemanticFailure,
  type SpanView,
  unmarkSemanticFailure,
} from '../../lib/api.js';
import { jsonOrText } from '../../lib/exact-json.js';
import { cost, duration, number } from '../../lib/format.js';
import { useProjects } from '../../lib/project.js';
import { executionQuery } from '../../lib/queries.js';
import { AskButton } from '../../ui/ask-button.js';
import { Badge, Button } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Icon } from '../../ui/icons.js';
import { JsonText } from '../../ui/json-text.js';
import { Facts, Muted, Note, Row, Stack } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { Empty, Loaded } from '../../ui/states.js';
import { useDone } from '../../ui/toasts.js';
import { Conversation } from './conversation.js';
import { spanQuery } from './queries.js';
import css from './trace.module.css';

const tabs = {
  messages: 'Messages',
  texts: 'Input/Output',
  attributes: 'Attributes',
  raw: 'Raw',
} as const;
type Tab = keyof typeof tabs;
type Closing = Readonly<Record<'onClose', () => void>>;

/** One span: its figures, what it carried, and the execution that it tells of. */
export function SpanPane({
  trace,
  span,
  onClose,
}: Readonly<Record<'trace' | 'span', string>> & Closing): ReactNode {
  const query = useQuery(spanQuery(trace, span));
  const [chosen, setTab] = useState<Tab>();
  return (
    <section className={css.pane} aria-label="Span" tabIndex={0}>
      <Loaded query={query}>
        {(data) => {
          if (data === null) return <Empty title="This span is no longer stored" />;
          const tab = chosen ?? (data.kind === 'llm' ? 'messages' : 'texts');
          return (
            <Stack tight>
              <SpanHead span={data} onClose={onClose} />
              <Modes label="Parts of the span" names={tabs} value={tab} onChange={setTab} />
              <Part span={data} tab={tab} />
            </Stack>
          );
        }}
      </Loaded>
    </section>
  );
}

function SpanHead({ span, onClose }: { readonly span: SpanView } & Closing): ReactNode {
  const { input_tokens: asked, output_tokens: answered, cached_tokens: cached, ttft_ms: ttft } = span;
  const tokens = `${number(asked ?? 0)} in, ${number(answered ?? 0)} out`;
  return (
    <>
      <Row>
        <h2>{span.tool_name ?? span.model ?? span.operation_name}</h2>
        {span.status === 'error' && <Badge state="error" />}
        <AskButton question={`What happened in the span \`${span.span_id}\`?`} />
        <Button look="quiet" small className={css.close} onClick={onClose} aria-label="Close" title="Esc">
          <Icon name="close" />
        </Button>
      </Row>
      {span.error_message !== null && <Note tone="bad">{span.error_message}</Note>}
      <Finding span={span} />
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
          ['Tokens', (asked ?? answered) !== null && tokens],
          ['Cached tokens', cached !== null && number(cached)],
          [
            'Cost',
            span.cost !== null && cost(span.cost) + (span.cost_source === 'computed' ? ' (computed)' : ''),
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
        <Note tone="warn">Marked as wrong: {data.semanticFailure}</Note>
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

function Part({ span, tab }: { readonly span: SpanView; readonly tab: Tab }): ReactNode {
  const { input = '', output = '', attribute = {}, messages = [] } = span;
  if (tab === 'raw') return <JsonText label="Span" value={span} />;
  if (tab === 'attributes') return <JsonText label="Attributes" value={attribute} />;
  if (tab === 'messages' && messages.length === 0) return <Empty title="No messages in this span" />;
  if (tab === 'messages') return <Conversation messages={messages} />;
  const absent = span.semantic_snippet
    ? 'Only the excerpt above is stored'
    : 'No input or output in this span';
  if (input === '' && output === '') return <Empty title={absent} />;
  return Object.entries({ Input: input, Output: output }).map(([label, text]) => (
    <section key={label}>
      <h3>{label}</h3>
      {text === '' ? <Muted>none</Muted> : <JsonText label={label} value={jsonOrText(text)} />}
    </section>
  ));
}

/** The failure that a text of the span reports, and the place in it; a `*` in the pattern stands for anything short. */
function Finding({ span }: { readonly span: SpanView }): ReactNode {
  const { semantic_pattern: pattern, semantic_snippet: text } = span;
  if (pattern === null || text === null) return null;
  const words = pattern.split('*').map((part) => part.replaceAll(/[^\w\s]/g, '\\$&'));
  const { 0: found = '', index = 0 } = new RegExp(words.join('.*?'), 'is').exec(text) ?? {};
  return (
    <Note tone="warn">
      Finding in the {span.semantic_source}, severity {span.semantic_severity}
      <blockquote className={css.snippet}>
        {text.slice(0, index)}
        <mark>{found}</mark>
        {text.slice(index + found.length)}
      </blockquote>
    </Note>
  );
}

/** Marks an execution whose answer looked right and was not, or takes the mark back. */
function MarkAct({ execution }: { readonly execution: ExecutionView }): ReactNode {
  const { metricId: id, toolName, semanticFailure } = execution;
  const { inProject } = useProjects();
  const isMarked = typeof semanticFailure === 'string';
  const done = useDone('executions', 'health', 'trace');
  return (
    <ActButton small scope="tools:admin" name={isMarked ? 'Remove mark' : 'Mark as wrong'}>
      {(onClose) => (
        <FormDialog<unknown>
          title={isMarked ? `Remove the mark${inProject}?` : `Mark as wrong${inProject}?`}
          about={`The execution of ${toolName} keeps its status; the tool’s health counts it as a finding.`}
          name={isMarked ? 'Remove mark' : 'Mark'}
          reason={!isMarked && 'Required. The execution’s record shows it.'}
          send={(options, reason) =>
            isMarked
              ? unmarkSemanticFailure({ path: { id }, ...options })
              : markSemanticFailure({ path: { id }, body: { reason }, ...options })
          }
          onDone={() => done(isMarked ? 'Mark removed' : 'Marked as wrong', toolName)}
          onClose={onClose}
        />
      )}
    </ActButton>
  );
}
