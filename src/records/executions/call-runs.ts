import type pg from 'pg';
import { arrayLiteral, sanitisedText } from '../../base/common/pg-text.js';
import type { ToolMetric } from './execution-record.js';

const joinRuns = 'SELECT * FROM join_call_runs($1, $2, $3, $4)';

/** Adds calls without a trace and a run to the run of their investigation, thread or session, whose id is their trace. */
export async function withRuns(client: pg.Client, metrics: readonly ToolMetric[]): Promise<ToolMetric[]> {
  const calls = metrics.filter(subjectOf);
  const traceIds = new Map<ToolMetric | undefined, string>();
  if (calls.length > 0) {
    const starts = calls.map(({ recordedAt }) => recordedAt.getTime());
    const ends = calls.map(({ executionTimeMs }, at) => Number(starts[at]) + executionTimeMs);
    const projects = calls.map(({ metadata: { projectId: id } }) =>
      typeof id === 'string' ? id : 'default',
    );
    const values = [projects, calls.map((call) => subjectOf(call) ?? ''), starts, ends].map(arrayLiteral);
    const query = { name: 'join_call_runs', text: joinRuns, values };
    const { rows } = await client.query<{ place: string; trace: string }>(query);
    for (const { place, trace } of rows) traceIds.set(calls[Number(place) - 1], trace);
  }
  return metrics.map((metric) => {
    const traceId = traceIds.get(metric);
    return traceId === undefined ? metric : { ...metric, traceId };
  });
}

/** The group of a call; undefined if it named its trace or run, or belongs to no group. */
function subjectOf({ metricId, traceId, runId, isTest, ...call }: ToolMetric): string | undefined {
  if (runId || isTest || traceId !== metricId.replaceAll('-', '')) return undefined;
  const { investigationId, sessionId, metadata } = call;
  const kinds = { investigation: investigationId, thread: metadata['threadId'], session: sessionId };
  const [kind, id] = Object.entries(kinds).find(([, named]) => typeof named === 'string') ?? [];
  return kind && `${kind}:${sanitisedText(String(id).slice(0, 400))}`;
}
