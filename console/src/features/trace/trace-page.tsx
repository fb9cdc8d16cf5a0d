import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useEffectEvent, useMemo, useRef, useSyncExternalStore } from 'react';
import type { RunView } from '../../lib/api.js';
import { cost, counted, duration, exactTime, number } from '../../lib/format.js';
import { isTyping } from '../../lib/key-targets.js';
import type { traceSearch } from '../../lib/searches.js';
import { useChange } from '../../lib/use-change.js';
import { AskButton } from '../../ui/ask-button.js';
import { Badge, Button, Tags } from '../../ui/controls.js';
import { FilterText } from '../../ui/filters.js';
import { Note, Workspace } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { Panes } from '../../ui/panes.js';
import { Select } from '../../ui/select.js';
import { Loaded } from '../../ui/states.js';
import { Bottlenecks } from './bottlenecks.js';
import { Minimap } from './minimap.js';
import { bottlenecksQuery, runOfQuery, traceOfExecutionQuery, traceQuery } from './queries.js';
import { SpanLog } from './span-log.js';
import { SpanPane } from './span-pane.js';
import { SpanTree } from './span-tree.js';
import { flag, type Trace } from './trace.js';
import type { Place, TraceState, TraceStore } from './trace-store.js';
import { useTraceTools } from './trace-tools.js';
import css from './trace-page.module.css';

const route = getRouteApi('/shell/traces/$id');

type Search = ReturnType<typeof traceSearch>;

/** One trace: its spans as a tree with bars, or as the conversation that they were; and one span beside. */
export function TracePage(): ReactNode {
  const { id } = route.useParams();
  const trace = useQuery(traceQuery(id));
  const run = useQuery(runOfQuery(id));
  useElsewhere(trace.isError);
  const framed = (state: ReactNode): ReactNode => (
    <Workspace name="Trace" about={<code>{id}</code>}>
      {state}
    </Workspace>
  );
  return (
    <Loaded query={trace} lines={14} within={framed}>
      {(store) => <OpenTrace key={id} id={id} store={store} run={run.data ?? undefined} />}
    </Loaded>
  );
}

/** Spans that took less of the run are not marked. */
const minPercent = 1;

/** Goes on to the trace that holds the execution that the address names, if it is not in this one. */
function useElsewhere(isAbsent: boolean): void {
  const { span = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: id } = useQuery({ ...traceOfExecutionQuery(span), enabled: isAbsent && span !== '' });
  useEffect(() => {
    if (isAbsent && id) void navigate({ params: { id }, search: { span }, replace: true });
  }, [isAbsent, id, span, navigate]);
}

interface OpenTraceProps {
  readonly id: string;
  readonly store: TraceStore;
  readonly run: RunView | undefined;
}

function OpenTrace({ id, store, run }: OpenTraceProps): ReactNode {
  const { view } = route.useSearch();
  const state = useSyncExternalStore(store.subscribe, store.read);
  const work = useRef<HTMLDivElement>(null);
  useAddress(store);
  useKeys(store, work);
  useTraceTools(store);
  const waits = useQuery({ ...bottlenecksQuery(run?.run_id ?? ''), enabled: run !== undefined });
  const critical = useMemo(
    () =>
      new Set(
        waits.data?.data
          .filter(({ percent_of_total: percent }) => percent >= minPercent)
          .map(({ span_id: span }) => span),
      ),
    [waits.data],
  );
  const name = run?.root_operation ?? store.trace.nameOf(0);
  return (
    <Workspace
      name={`Trace of ${name}`}
      title={<Title name={name} run={run} />}
      about={<Figures trace={store.trace} />}
      actions={<Ties id={id} run={run} />}
    >
      <div ref={work} className={css.work}>
        <Toolbar store={store} state={state} />
        {store.trace.count < store.trace.total && (
          <Note tone="warn">{`The first ${number(store.trace.count)} of ${number(store.trace.total)} spans`}</Note>
        )}
        <Highlight store={store} state={state} />
        <Minimap store={store} state={state} />
        <Panes
          name="trace"
          share={62}
          first={
            view === 'log' ? (
              <SpanLog id={id} store={store} state={state} />
            ) : (
              <SpanTree store={store} state={state} critical={critical} />
            )
          }
          second={
            state.selected < 0 ? (
              <Bottlenecks waits={waits.data ?? undefined} store={store} />
            ) : (
              <SpanPane trace={id} span={store.trace.idOf(state.selected)} />
            )
          }
        />
      </div>
    </Workspace>
  );
}

const Title = ({ name, run }: { readonly name: string; readonly run: RunView | undefined }): ReactNode => (
  <>
    {name} {run?.status === 'error' && <Badge state="error" />} <Tags words={run?.labels.slice(0, 3) ?? []} />
  </>
);

/** The number of highlighted spans with the reason, until the user removes the marks. */
function Highlight({ store, state: { highlighted, note } }: ToolbarProps): ReactNode {
  if (highlighted.size === 0) return null;
  return (
    <Note>
      {counted(highlighted.size, 'highlighted span')}
      {note && `: ${note}`}{' '}
      <Button small look="quiet" onClick={() => store.highlight([])}>
        Remove highlight
      </Button>
    </Note>
  );
}

/** The sums of the roots: each takes in what is below it. */
function Figures({ trace }: { readonly trace: Trace }): ReactNode {
  let [money, tokens, errors, semantic] = [0, 0, 0, 0];
  for (let span = 0; span < trace.count; span = trace.ends[span] ?? trace.count) {
    money += trace.costs[span] ?? 0;
    tokens += trace.tokens[span] ?? 0;
  }
  for (const flags of trace.flags) {
    if (flags & flag.error) errors += 1;
    if (flags & flag.semantic) semantic += 1;
  }
  return (
    <span className={css.figures}>
      <time dateTime={startOf(trace)}>{exactTime(startOf(trace))}</time>
      <span>{duration(trace.durationMs)}</span>
      <span>{cost(money)}</span>
      <span>{counted(tokens, 'token')}</span>
      <span>{counted(trace.total, 'span')}</span>
      {errors > 0 && <span className={css.error}>{counted(errors, 'error')}</span>}
      {semantic > 0 && <span className={css.semantic}>{counted(semantic, 'semantic failure')}</span>}
    </span>
  );
}

const startOf = ({ startUs }: Trace): string => new Date(startUs / 1_000).toISOString();

/** Links to the other traces of the run, and to its thread. */
function Ties({ id, run }: Pick<OpenTraceProps, 'id' | 'run'>): ReactNode {
  const others = run?.trace_ids.filter((each) => each !== id) ?? [];
  const thread = run?.thread_ids[0];
  return (
    <>
      {others.length > 0 && run && (
        <Link to="/traces" search={{ trace: run.trace_ids.join(',') }}>
          {counted(others.length, 'more trace')} in this run
        </Link>
      )}
      {thread !== undefined && (
        <Link to="/traces" search={{ thread }}>
          Thread
        </Link>
      )}
      <AskButton question="What happened in this trace?" />
    </>
  );
}

const levels = ['1', '2', '3', '4', '5'] as const;

interface ToolbarProps {
  readonly store: TraceStore;
  readonly state: TraceState;
}

function Toolbar({ store, state }: ToolbarProps): ReactNode {
  const { view } = route.useSearch();
  const change = useChange<Search>();
  const { hits, q, selected, level, isZoomed } = state;
  return (
    <div className={css.toolbar} role="group" aria-label="View of the trace">
      <Modes
        label="View"
        names={{ tree: 'Tree', log: 'Log' }}
        value={view ?? 'tree'}
        onChange={(chosen) => change({ view: chosen === 'log' ? 'log' : undefined })}
      />
      <form
        className={css.search}
        onSubmit={(event) => {
          event.preventDefault();
          store.next(hits);
        }}
      >
        <FilterText label="Search" wide value={q} onChange={(text = '') => store.search(text)} />
        <span className={css.hits} role="status">
          {q !== '' &&
            (hits.includes(selected)
              ? `${number(hits.indexOf(selected) + 1)} of ${number(hits.length)}`
              : counted(hits.length, 'hit'))}
        </span>
        <Button type="submit" small disabled={hits.length === 0}>
          Next hit
        </Button>
      </form>
      <Select
        label="Levels"
        none="all"
        value={levels.find((each) => Number(each) === level)}
        options={levels}
        onChange={(chosen) => store.collapseTo(chosen && Number(chosen))}
      />
      <Button small onClick={() => store.nextWrong()} aria-keyshortcuts="e" title="E">
        Next error
      </Button>
      <Button
        small
        disabled={selected < 0}
        onClick={() => store.zoomToSelected()}
        aria-keyshortcuts="z"
        title="Z"
      >
        Zoom to span
      </Button>
      <Button small disabled={!isZoomed} onClick={() => store.zoom()}>
        Whole trace
      </Button>
    </div>
  );
}

/** E goes to the next error, / to the search. Before the shell, to which / means its palette. */
function useKeys(store: TraceStore, work: { readonly current: HTMLElement | null }): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'e') store.nextWrong();
      else if (event.key === '/') work.current?.querySelector<HTMLElement>('input[type=search]')?.focus();
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
    window.addEventListener('keydown', onKey, { capture: true });
    return () => window.removeEventListener('keydown', onKey, { capture: true });
  }, [store, work]);
}

const writeMs = 250;

/** Keeps the address and the store alike. The address follows after a pause: browsers refuse many changes in a row. */
function useAddress(store: TraceStore): void {
  const { span, q, from, to, collapsed } = route.useSearch();
  const change = useChange<Search>();
  const written = useRef<string>(undefined);
  const now = textOf({ span, q, from, to, collapsed });
  const write = useEffectEvent(() => {
    const { place } = store;
    written.current = textOf(place);
    if (written.current !== now) change(place);
  });
  const read = useEffectEvent(() => store.goTo({ span, q, from, to, collapsed }));
  useEffect(() => {
    if (now !== written.current) read();
    written.current = now;
  }, [now, store]);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = store.subscribe(() => {
      clearTimeout(timer);
      timer = setTimeout(write, writeMs);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [store]);
}

const textOf = ({ span, q, from, to, collapsed }: Place): string =>
  JSON.stringify([span, q, from, to, collapsed]);
