import type { Statement } from '../../../base/database/statement.js';
import {
  type GroupFilters,
  type Grouping,
  noLists,
  runsOnPage,
  selectFigures,
  selectGroupKeys,
  selectGroups,
  selectRunKeys,
} from './groups.sql.js';
import {
  countSlices,
  type RunsRead,
  selectRunsToCountNow,
  selectUncounted,
  settleRuns,
  type SliceQuery,
  slotSeconds,
  type UncountedRun,
} from './slices.sql.js';
import type { Page, SpanFilter } from './span-filter.sql.js';
import type * as views from './trace-views.dto.js';

/** Runs a statement. */
type Select = <Row>(statement: Statement) => Promise<Row[]>;
/** Runs statements that see the same state of the database. */
type InSnapshot = <T>(work: (select: Select) => Promise<T>) => Promise<T>;

/** The figures of a run, a thread or a bucket of time. The key is the id, or the start of the bucket in microseconds. */
type GroupRow = Omit<views.GroupView, 'group_by' | 'group_key'> & { readonly key: string };

/** The result of a read; or the runs that must be counted before it, of which there may be more if the list is full. */
type ReadAttempt<T> =
  { readonly result: T } | { readonly uncounted: UncountedRun[]; readonly isFull: boolean };

/** Max runs that are counted at a time. */
const maxCounted = 100;
/** Max attempts to read while spans of the project keep changing. */
const maxAttempts = 5;

/** Figures of many spans, added from stored slices of their runs (slices.sql.ts). Changed runs are counted again first. */
export class SpanFigures {
  constructor(
    private readonly select: Select,
    private readonly inSnapshot: InSnapshot,
  ) {}

  /** One page of groups with their figures, the newest first. */
  groups(grouping: Grouping, filters: GroupFilters, page: Page): Promise<views.Listed<GroupRow>> {
    const { spans, groups = {} } = filters;
    const { by } = grouping;
    const bucketSeconds = by === 'time' ? grouping.bucketSeconds : undefined;
    // Without conditions on spans or figures, only the runs of the page must be counted.
    const isPlainPageOfRuns =
      by === 'run' && hasOnly(spans, runConditions) && Object.keys(groups).length === 0;
    let runsRead: RunsRead;
    if (isPlainPageOfRuns) runsRead = (values) => runsOnPage(spans, page, values);
    else if (by !== 'time' || hasOnly(spans, timeConditions)) runsRead = allRuns;
    const query = sliceQueryOf(grouping, spans);
    return this.read(spans.project, runsRead, async (select, uncounted) => {
      const slices = runsRead ? await withRunsCountedNow(select, query, uncounted, bucketSeconds) : query;
      const selectKeys = (ofPage: Page): Promise<{ key: string; total: number }[]> =>
        select(
          isPlainPageOfRuns
            ? selectRunKeys(spans, ofPage)
            : selectGroupKeys(grouping, filters, slices, ofPage),
        );
      const keys = await selectKeys(page);
      // Rows have the total. A page beyond the end has no rows, so the first page is asked for it.
      const isBeyondEnd = keys.length === 0 && page.offset > 0;
      const [first] = isBeyondEnd ? await selectKeys({ limit: 1, offset: 0 }) : keys;
      const total = first?.total ?? 0;
      const pagination = { offset: page.offset, limit: page.limit, total };
      if (keys.length === 0) return { data: [], pagination };
      const filter = filterOfGroups(grouping, spans, keys);
      // The range of a page of buckets is shorter than that of the list, so other slices are partly outside of it.
      const isPartOfList = slices.runsCountedNow !== undefined && by === 'time' && total > keys.length;
      const slicesOfPage = isPartOfList
        ? await withRunsCountedNow(select, sliceQueryOf(grouping, filter), uncounted, bucketSeconds)
        : { ...slices, filter, range: by === 'time' ? slices.range : undefined };
      const rows = await select<GroupRow & { lists: object | null }>(selectGroups(grouping, slicesOfPage));
      const byKey = new Map(
        rows.map(({ lists, ...row }) => [String(row.key), { ...noLists, ...lists, ...row }]),
      );
      return { data: keys.flatMap(({ key }) => byKey.get(String(key)) ?? []), pagination };
    });
  }

  /** Figures by bucket; without `bucketSeconds` one row with the figures of all spans, whose bucket is null. */
  figures(filter: SpanFilter, bucketSeconds?: number): Promise<views.BucketView[]> {
    const query = sliceQueryByTime(filter, bucketSeconds);
    const runsRead = hasOnly(filter, timeConditions) ? allRuns : undefined;
    return this.read(filter.project, runsRead, async (select, uncounted) => {
      const slices = runsRead ? await withRunsCountedNow(select, query, uncounted, bucketSeconds) : query;
      return select(selectFigures(slices, bucketSeconds));
    });
  }

  /** Counts the runs that lost spans, or that an older server counted. Deletes runs that have no spans any more. */
  async settle(): Promise<void> {
    const countedByOlderServer = (): string => 'figures IS NOT NULL';
    for (let found = maxCounted; found === maxCounted;) {
      const runs = await this.select<UncountedRun>(
        selectUncounted(undefined, countedByOlderServer, maxCounted),
      );
      for (const [project, ofProject] of Map.groupBy(runs, (run) => run.project))
        await this.count(project, ofProject);
      found = runs.length;
    }
  }

  /**
   * Reads figures after the runs that they need are counted.
   * @param readFigures gets the runs that still are not counted: they changed meanwhile, or their slices cannot be stored
   */
  private async read<T>(
    project: string,
    runsRead: RunsRead,
    readFigures: (select: Select, uncounted: string[]) => Promise<T>,
  ): Promise<T> {
    for (let attempts = 0; ;) {
      const attempt = await this.inSnapshot(async (select): Promise<ReadAttempt<T>> => {
        const uncounted = await select<UncountedRun>(selectUncounted(project, runsRead, maxCounted));
        const isFull = uncounted.length === maxCounted;
        const lostSpans = uncounted.some(({ unsettled }) => unsettled);
        // After the first attempt, few uncounted runs are counted by the statement itself, unless they may have no spans.
        const canRead = attempts > 0 && !isFull && !lostSpans;
        if (uncounted.length > 0 && attempts < maxAttempts && !canRead) return { uncounted, isFull };
        const keys = uncounted.map(({ key }) => key);
        return { result: await readFigures(select, keys) };
      });
      if ('result' in attempt) return attempt.result;
      // If the database does not accept writes, figures are read without stored slices.
      const isCounted = await this.count(project, attempt.uncounted).then(
        () => true,
        () => false,
      );
      if (!isCounted) attempts = maxAttempts;
      else if (!attempt.isFull) attempts += 1;
    }
  }

  /** Stores the slices of runs. */
  private async count(project: string, runs: readonly UncountedRun[]): Promise<void> {
    const runIds = runs.map(({ key }) => key);
    await this.select(countSlices(project, runIds));
    await this.select(settleRuns(project, runs));
  }
}

/** The condition on runs with which the stored slices of all runs are read. */
const allRuns = (): string => 'true';

/** Members of a filter that apply to whole runs. */
const runConditions: readonly (keyof SpanFilter)[] = ['project', 'runIds', 'runKind'];
/** Members of a filter that stored slices can meet. */
const timeConditions: readonly (keyof SpanFilter)[] = ['project', 'runKind', 'startUs', 'endUs'];

/** Whether a filter has no other members than these. */
const hasOnly = (filter: SpanFilter, members: readonly string[]): boolean =>
  Object.keys(filter).every((member) => members.includes(member));

/** The range of a filter; undefined without one. */
const rangeOf = ({ project, startUs, endUs }: SpanFilter): SliceQuery['range'] =>
  startUs === undefined && endUs === undefined
    ? undefined
    : { project, ...(startUs !== undefined && { startUs }), ...(endUs !== undefined && { endUs }) };

/** The slices of groups. A run or thread has all its spans; a bucket has those that match the filter. */
const sliceQueryOf = (grouping: Grouping, filter: SpanFilter): SliceQuery => {
  if (grouping.by === 'time') return sliceQueryByTime(filter, grouping.bucketSeconds);
  const range = grouping.by === 'run' ? rangeOf(filter) : undefined;
  return { filter: { project: filter.project }, within: `${grouping.by}_id`, range };
};

/** Slices of spans by bucket of time. Stored slices fit if a bucket consists of whole slots. */
const sliceQueryByTime = (filter: SpanFilter, bucketSeconds = slotSeconds): SliceQuery => ({
  filter,
  within: undefined,
  range: rangeOf(filter),
  seconds: bucketSeconds % slotSeconds === 0 ? slotSeconds : bucketSeconds,
});

/** Adds the runs whose stored slices cannot be used. If too many runs are uncounted, all spans are counted instead. */
async function withRunsCountedNow(
  select: Select,
  query: SliceQuery,
  uncounted: string[],
  bucketSeconds?: number,
): Promise<SliceQuery> {
  if (uncounted.length === maxCounted) return query;
  if (query.within === 'run_id') return { ...query, runsCountedNow: uncounted };
  const runs = await select<{ key: string }>(selectRunsToCountNow(query, uncounted, bucketSeconds));
  return { ...query, runsCountedNow: runs.map(({ key }) => key) };
}

/** A filter for the spans of groups: all spans of runs or threads; of buckets of time, those that match the filter. */
function filterOfGroups(
  grouping: Grouping,
  { project, ...filter }: SpanFilter,
  keys: readonly { key: string }[],
): SpanFilter {
  const ids = keys.map(({ key }) => key);
  if (grouping.by !== 'time') return { project, [grouping.by === 'run' ? 'runIds' : 'threadIds']: ids };
  const buckets = ids.map(Number);
  const first = Math.min(...buckets);
  const last = Math.max(...buckets) + grouping.bucketSeconds * 1_000_000 - 1;
  return {
    ...filter,
    project,
    startUs: Math.max(first, filter.startUs ?? first),
    endUs: Math.min(last, filter.endUs ?? last),
  };
}
