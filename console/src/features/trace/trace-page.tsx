import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from 'react';
import { tinykeys } from 'tinykeys';
import type { RunView } from '../../lib/api.js';
import { cost, counted, duration, exactTime, number } from '../../lib/format.js';
import { gathered } from '../../lib/gathered.js';
import { isTyping } from '../../lib/key-targets.js';
import { labelChoice } from '../../lib/label-filter.js';
import { useTopic } from '../../lib/live.js';
import { useProjects } from '../../lib/project.js';
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
import { FlameGraph } from './flame-graph.js';
import { Minimap } from './minimap.js';
import { countSpans, runOfQuery, traceQuery, whereaboutsQuery } from './queries.js';
import { SpanLog } from './span-log.js';
import { SpanPane } from './span-pane.js';
import { SpanTree } from './span-tree.js';
import { flag, type Trace } from './trace.js';
import type { Place, TraceProps, TraceStore } from './trace-store.js';
import { useTraceTools } from './trace-tools.js';
import css from './trace.module.css';

const route = getRouteApi('/shell/traces/$id');

type Search = ReturnType<typeof traceSearch>;

/** Views that merge spans: these are not searched or zoomed there. */
const isMerged = (view: Search['view']): boolean => view === 'flame' || view === 'bottlenecks';

/** One trace: its spans as a tree with bars, or as the conversation that they were; and one span beside. */
export function TracePage(): ReactNode {
  const { id } = route.useParams();
  const trace = useQuery(traceQuery(id));
  const run = useQuery(runOfQuery(id));
  useElsewhere(id, trace.isError);
  return (
    <Loaded
      query={trace}
      lines={14}
      within={(state) => <Workspace name="Trace" about={id} children={state} />}
    >
      {(store) => <OpenTrace key={id} id={id} store={store} run={run.data ?? undefined} />}
    </Loaded>
  );
}

/** Goes on to the trace and the project that have the execution that the address names, or the trace itself. */
function useElsewhere(id: string, isAbsent: boolean): void {
  const { span } = route.useSearch();
  const navigate = route.useNavigate();
  const { sought, project: now } = useProjects();
  const ids = span === undefined ? [id] : [span, id];
  const { data: found } = useQuery({ ...whereaboutsQuery(ids, sought), enabled: isAbsent });
  useEffect(() => {
    if (!isAbsent || !found) return;
    const { trace_id, project } = found;
    if (trace_id !== id || project !== now)
      void navigate({ params: { id: trace_id }, search: { span, project }, replace: true });
  }, [isAbsent, found, id, now, span, navigate]);
}

interface OpenTraceProps {
  readonly id: string;
  readonly store: TraceStore;
  readonly run: RunView | undefined;
}

function OpenTrace({ id, store, run }: OpenTraceProps): ReactNode {
  const { view } = route.useSearch();
  const state = useSyncExternalStore(store.subscribe, store.read);
  const shown = { store, state };
  const selected = state.selected < 0 ? undefined : store.trace.idOf(state.selected);
  const work = useRef<HTMLDivElement>(null);
  const close = (): void => {
    store.unselect();
    work.current?.querySelector<HTMLElement>('[role=treegrid]')?.focus();
  };
  const onEscape = useEffectEvent((event: KeyboardEvent) => selected && !isTyping(event) && close());
  useEffect(() => tinykeys(window, { Escape: onEscape }), []);
  useAddress(store);
  useKeys(store, work);
  useTraceTools(store);
  useNews(id, store.trace.count);
  const { count, total, nameOf } = store.trace;
  const parts = {
    tree: <SpanTree {...shown} />,
    flame: <FlameGraph key={count} trace={store.trace} />,
    bottlenecks: <Bottlenecks store={store} />,
    log: <SpanLog id={id} {...shown} />,
  };
  const name = run?.root_operation ?? nameOf(0);
  return (
    <Workspace
      name={`Trace of ${name}`}
      title={
        <>
          {name} {run?.status === 'error' && <Badge state="error" />}{' '}
          <Tags words={run?.labels.slice(0, 3) ?? []} />
        </>
      }
      about={<Figures trace={store.trace} />}
      actions={<Ties run={run} />}
    >
      <div ref={work} className={css.work}>
        <Toolbar {...shown} />
        {count < total && <Note tone="warn">{`The first ${number(count)} of ${number(total)} spans`}</Note>}
        <Highlight {...shown} />
        {!isMerged(view) && <Minimap {...shown} />}
        <Panes
          name="trace"
          share={62}
          first={parts[view ?? 'tree']}
          second={selected !== undefined && <SpanPane trace={id} span={selected} onClose={close} />}
        />
      </div>
    </Workspace>
  );
}

/** The number of highlighted spans with the reason, until the user removes the marks. */
function Highlight({ store, state: { highlighted, note } }: TraceProps): ReactNode {
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
  const start = new Date(trace.startUs / 1_000).toISOString();
  let [money, tokens, errors] = [0, 0, 0];
  const semantic: number[] = [];
  for (let span = 0; span < trace.count; span = trace.ends[span] ?? trace.count) {
    money += trace.costs[span] ?? 0;
    tokens += trace.tokens[span] ?? 0;
  }
  for (const [span, flags] of trace.flags.entries()) {
    if (flags & flag.error) errors += 1;
    if (flags & flag.semantic) semantic.push(span);
  }
  // Requests of models repeat what a tool answered.
  const ofTools = semantic.filter((span) => trace.typeOf(span).kind === 'tool').length;
  const causes = ofTools || new Set(semantic.map(trace.patternOf)).size;
  return (
    <span className={css.figures}>
      <time dateTime={start}>{exactTime(start)}</time>
      <span>{duration(trace.durationMs)}</span>
      <span>{cost(money)}</span>
      <span>{counted(tokens, 'token')}</span>
      <span>{counted(trace.total, 'span')}</span>
      {errors > 0 && <span className={css.error}>{counted(errors, 'error')}</span>}
      {causes > 0 && (
        <span className={css.semantic}>
          {counted(causes, 'finding')} in {counted(semantic.length, 'span')}
        </span>
      )}
    </span>
  );
}

/** Links to the other traces of the run, and to its thread. */
function Ties({ run }: Pick<OpenTraceProps, 'run'>): ReactNode {
  const {
    trace_ids: traces,
    thread_ids: [thread],
  } = run ?? { trace_ids: [], thread_ids: [] };
  const more = `${counted(traces.length - 1, 'more trace')} in this run`;
  return (
    <>
      {traces.length > 1 && <Link to="/traces" search={{ trace: traces.join(',') }} children={more} />}
      {run && <Link to="/traces" search={{ compare: run.run_id }} children="Compare with…" />}
      {thread !== undefined && <Link to="/traces" search={{ thread }} children="Thread" />}
      <AskButton question="What happened in this trace?" />
    </>
  );
}

const keyE = { 'aria-keyshortcuts': 'e', title: 'E' } as const;
const views = { tree: 'Tree', flame: 'Flame graph', bottlenecks: 'Bottlenecks', log: 'Log' } as const;
const levels = ['1', '2', '3', '4', '5'] as const;

function Toolbar({ store, state }: TraceProps): ReactNode {
  const { view } = route.useSearch();
  const change = useChange<Search>();
  const { hits, q, selected, level, isZoomed, labels } = state;
  const hit = hits.indexOf(selected) + 1;
  return (
    <div className={css.toolbar} role="group" aria-label="View of the trace">
      <Modes
        label="View"
        names={views}
        value={view ?? 'tree'}
        onChange={(chosen) => change({ view: chosen === 'tree' ? undefined : chosen })}
      />
      <div className={css.tools} hidden={isMerged(view)}>
        <form
          className={css.search}
          onSubmit={(event) => {
            event.preventDefault();
            store.next(hits);
          }}
        >
          <FilterText label="Search" wide value={q} onChange={(text = '') => store.search(text)} />
          <span className={css.hits} role="status">
            {q !== '' && (hit > 0 ? `${number(hit)} of ${number(hits.length)}` : counted(hits.length, 'hit'))}
          </span>
          <Button type="submit" small disabled={hits.length === 0}>
            Next hit
          </Button>
        </form>
        {store.trace.labels.length > 0 && (
          <Select
            label="Label"
            none="all"
            value={labels || undefined}
            {...labelChoice(store.trace.labels, labels)}
            onChange={(chosen = '') => store.filter(chosen)}
          />
        )}
        <Select
          label="Levels"
          none="all"
          value={levels.find((each) => Number(each) === level)}
          options={levels}
          onChange={(chosen) => store.collapseTo(chosen && Number(chosen))}
        />
        <Button small disabled={!store.hasWrong} onClick={() => store.nextWrong()} {...keyE}>
          Next error
        </Button>
        <Button
          small
          disabled={!isZoomed && selected < 0}
          onClick={() => (isZoomed ? store.zoom() : store.zoomToSelected())}
        >
          {isZoomed ? 'Whole trace' : 'Zoom to span'}
        </Button>
      </div>
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

const newsMs = 2_000;

/** Asks for the trace after spans came to it. A large one is asked for less often. */
function useNews(id: string, spans: number): void {
  const client = useQueryClient();
  const known = useRef(spans);
  useEffect(() => {
    known.current = spans;
  }, [spans]);
  const [onSpans] = useState(() =>
    gathered(
      async () => {
        if ((await countSpans(id)) > known.current)
          await client.invalidateQueries({ queryKey: ['trace', id] });
      },
      newsMs + spans / 10,
    ),
  );
  useTopic('spans', ({ event }) => event === 'spans' && onSpans());
}

const writeMs = 250;

/** Keeps the address and the store alike. The address follows after a pause: browsers refuse many changes in a row. */
function useAddress(store: TraceStore): void {
  const { view: _, ...place } = route.useSearch();
  const change = useChange<Search>();
  const written = useRef<string>(undefined);
  const now = textOf(place);
  const write = useEffectEvent(() => {
    written.current = textOf(store.place);
    if (written.current !== now) change(store.place);
  });
  const read = useEffectEvent(() => store.goTo(place));
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

const textOf = ({ span, q, from, to, collapsed, labels }: Place): string =>
  JSON.stringify([span, q, from, to, collapsed, labels]);
