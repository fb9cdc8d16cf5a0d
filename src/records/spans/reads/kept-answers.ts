import { LRUCache } from 'lru-cache';
import { type Statement, statement } from '../../../base/database/statement.js';
import { conditionOf, type SpanFilter } from './span-filter.sql.js';

type Select = <Row>(statement: Statement) => Promise<Row[]>;

/** Characters of JSON in all answers that are kept. */
const maxLength = 8_388_608;
/** Answers kept for ranges of one question, such as its last day and its last week. */
const maxRanges = 4;
/** Microseconds; no span starts later. */
const latestUs = 8_640_000_000_000_000;

/** Starts of spans of the project around the ends of a range; null if there are none. Microseconds. */
interface Edges {
  readonly before: number | null;
  readonly first: number | null;
  readonly last: number | null;
  readonly after: number | null;
}

type Kept = Edges & { readonly marks: string; readonly json: string };

/**
 * Answers about many spans. Each is kept while no run of its project is marked: triggers mark a run whenever one of its
 * spans comes, changes or goes. A range that moves with the clock has the same answer while no span enters or leaves it.
 */
export class KeptAnswers {
  private readonly kept = new LRUCache<string, readonly Kept[]>({
    maxSize: maxLength,
    sizeCalculation: (answers) => answers.reduce((length, { json }) => length + json.length, 0),
  });

  constructor(private readonly select: Select) {}

  /** @param question what is asked of the spans of the filter */
  async of<T>(question: object, filter: SpanFilter, count: () => Promise<T>): Promise<T> {
    const { startUs = 0, endUs = latestUs, ...spans } = filter;
    const key = JSON.stringify([question, spans]);
    // Before the spans are read: a change in between makes the answer one that is never given again.
    const [{ marks } = { marks: '' }] = await this.select<{ marks: string }>(selectMarks(spans.project));
    const current = (this.kept.get(key) ?? []).filter((answer) => answer.marks === marks);
    const known = current.find((answer) => hasSameSpans(answer, startUs, endUs));
    if (known) return JSON.parse(known.json) as T;
    const [edges] = await this.select<Edges>(selectEdges(spans.project, startUs, endUs));
    const answer = await count();
    if (edges)
      this.kept.set(key, [
        { ...edges, marks, json: JSON.stringify(answer) },
        ...current.slice(0, maxRanges - 1),
      ]);
    return answer;
  }
}

/** Whether the spans of a range are those of the range that an answer was counted for. */
const hasSameSpans = ({ before, first, last, after }: Edges, startUs: number, endUs: number): boolean =>
  startUs > (before ?? -1) &&
  startUs <= (first ?? Infinity) &&
  endUs >= (last ?? -1) &&
  endUs < (after ?? Infinity);

/** A text that changes with each mark of a run, and when a run that lost spans is counted. */
const selectMarks = (project: string): Statement => ({
  text: `
    SELECT count(*) || ' ' || coalesce(sum(hashint8extended(version * 4 + is_agent::int * 2 + (start_us IS NULL)::int, 0)), 0) AS marks
    FROM run_figures WHERE project = $1`,
  values: [project],
});

const selectEdges = (project: string, startUs: number, endUs: number): Statement =>
  statement((values) => {
    const edge = (range: Pick<SpanFilter, 'startUs' | 'endUs'>, order: 'ASC' | 'DESC'): string =>
      `(SELECT start_us::float8 FROM all_spans WHERE ${conditionOf({ project, ...range }, values)} ORDER BY start_us ${order} LIMIT 1)`;
    return `
    SELECT ${edge({ endUs: startUs - 1 }, 'DESC')} AS before, ${edge({ startUs, endUs }, 'ASC')} AS first,
           ${edge({ startUs, endUs }, 'DESC')} AS last, ${edge({ startUs: endUs + 1 }, 'ASC')} AS after`;
  });
