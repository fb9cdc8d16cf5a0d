import type { Json } from './json.js';
import type { AskedOfLlm } from './llm-endpoint.js';

/*
 * A model that investigates and one that judges spans, in the place of real ones. They remember nothing and know no name of
 * what they may find: each answer follows from what they were sent.
 */

/** A call that was made, and its answer. */
export interface Heard {
  readonly tool: string;
  readonly input: Json;
  readonly answer: Json;
}

const atOnce = 5;
const maxJudged = 15;

/** The investigator's next call, or its conclusion. @param task a question with `thread "…"` in it */
export function nextStep(task: string, heard: readonly Heard[]): { tool: string; input: Json } | string {
  const [summary] = answersOf('fetch_spans_summary', heard);
  if (!summary) {
    const thread = /thread "([^"]+)"/.exec(task)?.[1];
    return { tool: 'fetch_spans_summary', input: { threadIds: [thread] } };
  }
  const asked = heard.filter(({ tool }) => tool === 'get_span_content').flatMap(({ input }) => input.spanIds);
  const unread = namedIn(summary).filter((id) => !asked.includes(id));
  if (unread.length > 0) return { tool: 'get_span_content', input: { spanIds: unread.slice(0, atOnce) } };
  const [judged] = answersOf('analyze_with_llm', heard);
  if (judged) return conclusion(judged);
  const contents = answersOf('get_span_content', heard).flatMap(({ data }) => data);
  const spanIds = contents
    .filter(({ input_excerpt: input, output_excerpt: output }) => input || output)
    .map(({ span_id }) => span_id);
  return { tool: 'analyze_with_llm', input: { spanIds: spanIds.slice(0, maxJudged) } };
}

const answersOf = (wanted: string, heard: readonly Heard[]): Json[] =>
  heard.filter(({ tool }) => tool === wanted).map(({ answer }) => answer);

/** The spans that a summary names, in any of its lists. */
function namedIn(summary: Json): string[] {
  const lists = Object.values<Json>(summary).filter((section) => Array.isArray(section));
  return [...new Set(lists.flat().flatMap(({ span_id: id }) => id ?? []))];
}

function conclusion({ analysis }: Json): string {
  const found = analysis.span_analyses.flatMap(({ issues, issue_title: title }: Json) =>
    issues.map(
      ({ data_snippet: quoted, tool_name: tool, unverified }: Json) =>
        `${[title, tool && `of ${tool}`, unverified && '(unverified)'].filter(Boolean).join(' ')}: ${quoted}`,
    ),
  );
  return found.length > 0 ? found.join('\n') : 'Nothing went wrong.';
}

/** For `startLlmServer`: whoever brings tools investigates, else spans are judged. */
export function model({ body }: AskedOfLlm): Json {
  if (!body.tools) return judge(body.messages[1].content);
  const task = body.messages.find(({ role }: Json) => role === 'user').content;
  const next = nextStep(typeof task === 'string' ? task : task[0].text, heardIn(body.messages));
  if (typeof next === 'string') return next;
  const call = { name: next.tool, arguments: JSON.stringify(next.input) };
  return {
    tool_calls: [{ id: `call-${body.messages.length}`, type: 'function', function: call }],
  };
}

function heardIn(messages: readonly Json[]): Heard[] {
  const calls = messages.flatMap(({ tool_calls: called }) => called ?? []);
  return messages
    .filter(({ role }) => role === 'tool')
    .map(({ tool_call_id: id, content }) => {
      const { name, arguments: given } = calls.find((call) => call.id === id).function;
      // The content of a result of MCP: one text.
      const [{ text }] = JSON.parse(content);
      return { tool: name, input: JSON.parse(given), answer: JSON.parse(text) };
    });
}

interface Found {
  readonly title: string;
  readonly quoted: string;
  readonly severity: 'high' | 'medium';
  readonly tool?: string;
}

/** The judge looks at each span that it was asked about, and for degradation at all that it was told of. */
function judge(question: string): Json {
  const lines = question.split('\n');
  const spans = lines.filter((line) => line.startsWith('{"span_id"')).map((line) => JSON.parse(line));
  const others = lines.flatMap((line) => {
    const [, span_id, operation_name, ms] = /^(\S+) (\S+) (?:success|error) (\d+) ms: /.exec(line) ?? [];
    return span_id ? [{ span_id, operation_name, duration_ms: Number(ms) }] : [];
  });
  const slow = slowedDown([...spans, ...others]);
  const analyses = spans.flatMap((span) =>
    [silentIn(span), warningIn(span), wrongToolIn(span), slow.has(span.span_id) && degraded(span)].flatMap(
      (found) => (found ? [analysisOf(span.span_id, found)] : []),
    ),
  );
  return {
    overall_assessment: `${analyses.length} of ${spans.length} spans look odd`,
    issue_count: { high: 0, medium: 0, low: 0 },
    span_analyses: analyses,
    correlations: [],
    recommendations: [],
  };
}

const analysisOf = (span_id: string, { title, quoted, severity, tool = null }: Found & { tool?: Json }) => ({
  span_id,
  issue_title: title,
  issues: [
    {
      type: tool ? 'tool' : 'semantic',
      severity,
      data_snippet: quoted,
      explanation: title,
      tool_name: tool,
      tool_call_id: null,
    },
  ],
});

function silentIn({ kind, status, output, tool_name: tool }: Json): Found | undefined {
  const quoted = /"\w+":(?:\[\]|null|"")/.exec(output)?.[0];
  if (kind !== 'tool' || status !== 'success' || !quoted) return undefined;
  return { title: 'Silent failure', quoted, severity: 'high', tool };
}

function warningIn({ output, tool_name: tool }: Json): Found | undefined {
  const quoted = /\b(?:warning|deprecated)\b[^.]*/i.exec(output)?.[0];
  return quoted ? { title: 'Buried warning', quoted, severity: 'medium', tool } : undefined;
}

function wrongToolIn({ input, output }: Json): Found | undefined {
  const [quoted, tool] = /unknown tool:? ([\w.-]+)/i.exec(`${input}\n${output}`) ?? [];
  return quoted && tool ? { title: 'Wrong tool', quoted, severity: 'high', tool } : undefined;
}

const degraded = ({ output }: Json): Found => ({
  title: 'Gradual degradation',
  quoted: /"content":"([^"]{1,80})/.exec(output)?.[1] ?? output,
  severity: 'medium',
});

/** Of each operation the slowest span, where three of them took twice as long each as the one before. */
function slowedDown(spans: readonly Json[]): Set<string> {
  const byOperation = Map.groupBy(spans, ({ operation_name: name }) => name);
  return new Set(
    [...byOperation.values()].flatMap((list) => {
      const slowest = list.toSorted((a, b) => b.duration_ms - a.duration_ms).slice(0, 3);
      const [last, middle, first] = slowest.map(({ duration_ms: ms }) => ms);
      return last > 2 * middle && middle > 2 * first ? [slowest[0].span_id] : [];
    }),
  );
}
