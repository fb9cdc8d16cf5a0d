import {
  amount,
  count,
  flag,
  moment,
  oneOf,
  type Reader,
  type Search,
  searchParams,
  share,
  text,
} from './search-params.js';
import { relativeStarts } from './time-range.js';
import { toolActIds } from './tool-acts.js';

/*
 * Search parameters of each screen's address. Defaults are left out.
 */

const relativeStart = oneOf(...relativeStarts);
/** The start of a range: a moment, or a start relative to now. */
const start: Reader<string> = (raw) => relativeStart(raw) ?? moment(raw);

export const toolsSearch = searchParams({
  q: text,
  kind: oneOf('builtin', 'custom', 'mcp', 'ui', 'server'),
  grade: oneOf('healthy', 'degraded', 'unhealthy', 'unknown'),
  circuit: oneOf('open', 'half_open', 'closed'),
  status: oneOf('active', 'held', 'disabled', 'error'),
  open: text,
  sort: text,
});

/** The project of every screen. Screens that filter by it list it. */
const ofProject = { project: text } as const;
export const shellSearch = searchParams(ofProject);

export const executionsSearch = searchParams({
  ...ofProject,
  tool: text,
  status: oneOf('success', 'error', 'timeout'),
  errorType: text,
  investigation: text,
  run: text,
  user: text,
  session: text,
  request: text,
  since: start,
  until: moment,
  slowMs: count,
  finding: flag,
  /** The execution that is open beside the list. */
  exec: text,
});

export const eventTypes = [
  ...['tool.crashed', 'tool.degraded', 'tool.failed', 'tool.recovered', 'health.changed'],
  ...['circuit.opened', 'circuit.half_opened', 'circuit.closed'],
] as const;

/** With `until`, the list does not change while new events arrive. */
export const eventsSearch = searchParams({
  ...ofProject,
  tool: text,
  type: oneOf(...eventTypes),
  since: start,
  until: moment,
});

export const keysSearch = searchParams({
  q: text,
  status: oneOf('active', 'expired', 'revoked'),
  /** The key that is open beside the list. */
  key: text,
  /** The dialog for a new key is open. */
  make: flag,
});

export const auditSearch = searchParams({
  /** The entry that is open beside the list. */
  entry: text,
  who: text,
  what: text,
  target: text,
  since: start,
  until: moment,
});

export const investigationsSearch = searchParams({
  ...{ ...ofProject, q: text, spent: flag, sort: text },
  since: start,
  until: moment,
});

/** `keyless`: an investigation of callers without a key, which belongs to no project. */
export const investigationSearch = searchParams({ ...ofProject, keyless: flag });

const hoursBack: Readonly<Record<string, string>> = { '1': '1h', '24': '24h', '168': '7d' };
const range = searchParams({ since: start, until: moment });

/** The time range of figures and charts. Older links have `period`, in hours. */
export const rangeSearch = ({ period, ...raw }: Search): ReturnType<typeof range> =>
  range({ since: hoursBack[String(period)], ...raw });

/** The act that a dialog of the tool asks for. */
export const toolSearch = searchParams({ act: oneOf(...toolActIds) });

/** The tool of an MCP server whose definition is open. */
export const serverToolsSearch = searchParams({ tool: text });

export const revisionsSearch = searchParams({ revision: count, against: count });

export const logsSearch = searchParams({ q: text, level: oneOf('info', 'warn', 'error'), paused: flag });

export const registerSearch = searchParams({
  from: oneOf('template', 'path', 'json', 'mcp'),
  /** The template and its open file. */
  template: text,
  file: text,
});

export const editSearch = searchParams({
  /** The form; absent: `files` for a tool with a bundle, otherwise `settings`. */
  as: oneOf('files', 'settings', 'json'),
  file: text,
});

export const replaySearch = searchParams({ revision: count });

/** A search for playbooks: words, the labels of the situation, and the min confidence to show. */
const situation = { q: text, labels: text, threshold: share } as const;

export const playbooksSearch = searchParams({
  ...situation,
  /** Filters the playbooks that are left out by the reason. */
  by: oneOf('status', 'label', 'threshold', 'limit'),
  /** The playbook that is open beside the answer. */
  playbook: text,
  /** Its standing before it was changed. */
  was: text,
});

export const experimentSearch = searchParams({
  /** The model call that a new experiment starts from. The trace is needed if several traces have the span. */
  span: text,
  trace: text,
  /** The run whose answer is compared; absent: the original call. */
  against: text,
  view: oneOf('answers'),
});

export const playbookEditSearch = searchParams(situation);

/** The version that is open; absent: the latest. */
export const playbookSearch = searchParams({ v: text });

export const playbookVersionsSearch = searchParams({ from: text, to: text });

export const tracesSearch = searchParams({
  ...ofProject,
  group: oneOf('thread', 'time'),
  /** Absent: `agent`, or `all` if a thread or a trace is given. */
  kind: oneOf('agent', 'calls', 'assistant', 'all'),
  q: text,
  model: text,
  labels: text,
  status: oneOf('success', 'error'),
  errors: oneOf('yes', 'no'),
  /** US dollars. */
  minCost: amount,
  minMs: count,
  thread: text,
  /** Ids of traces, with commas between them. */
  trace: text,
  compare: text,
  since: start,
  until: moment,
});

export const compareSearch = searchParams({ a: text, b: text });

export const traceSearch = searchParams({
  span: text,
  view: oneOf('flame', 'bottlenecks', 'log'),
  q: text,
  /** Milliseconds from the start of the trace. */
  from: count,
  to: count,
  /** `L2` for a level, and ids of spans. */
  collapsed: text,
  labels: text,
});
