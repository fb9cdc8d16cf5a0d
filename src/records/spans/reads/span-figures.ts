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
  selectDirect,
  selectUncounted,
  settleRuns,
  type Slices,
  slotSeconds,
  type UncountedRun,
} from './slices.sql.js';
import type { Page, SpanFilter } from './span-filter.sql.js';
import type * as views from './trace-views.dto.js';

type Select = <Row>(statement: Statement) => Promise<Row[]>;
/** Statements that see the spans as they are at one moment. */
type AtOnce = <T>(work: (select: Select) => Promise<T>) => Promise<T>;

/** The figures of a run, a thread or a span of time, whose start in microseconds is the key. */
export type GroupRow = Omit<views.GroupView, 'group_by' | 'group_key'> & { readonly key: string };

type Seen<T> = { readonly answer: T } | { readonly uncounted: UncountedRun[]; readonly isFull: boolean };

/** Runs counted at a time. */
const maxCounted = 100;
/** Looks while others change spans of the project. */
const maxLooks = 5;

/**
 * Figures of many spans, added up from slices of their runs. The table has slices from when a run was counted last; triggers
 * give a run another version whenever one of its spans comes, changes or goes, and such a run is counted when it is read.
 */
export class SpanFigures {
  constructor(
    private readonly select: Select,
    private readonly atOnce: AtOnce,
  ) {}

  groups(grouping: Grouping, filters: GroupFilters, page: Page): Promise<views.Listed<GroupRow>> {
    const { spans, groups = {} } = filters;
    const { by } = grouping;
    const isPage = by === 'run' && isOfRuns(spans) && Object.keys(groups).length === 0;
    const bucketSeconds = by === 'time' ? grouping.bucketSeconds : undefined;
    const wanted =
      by === 'time'
        ? timed(spans, bucketSeconds)
        : {
            filter: { project: spans.project },
            within: `${by}_id` as const,
            reads: by === 'run' ? rangeOf(spans) : undefined,
          };
    const runs: RunsRead = isPage
      ? (values) => runsOnPage(spans, page, values)
      : isOfTime(spans) || by !== 'time'
        ? () => 'true'
        : undefined;
    return this.read(spans.project, runs, async (select, uncounted) => {
      const slices = runs ? await directOf(select, wanted, uncounted, bucketSeconds) : wanted;
      const keysOf = (at: Page): Promise<{ key: string; total: number }[]> =>
        select(isPage ? selectRunKeys(spans, at) : selectGroupKeys(grouping, filters, slices, at));
      const keys = await keysOf(page);
      const total =
        keys[0]?.total ?? (page.offset === 0 ? 0 : ((await keysOf({ limit: 1, offset: 0 }))[0]?.total ?? 0));
      const pagination = { ...page, total };
      if (keys.length === 0) return { data: [], pagination };
      const filter = ofGroups(grouping, spans, keys);
      const isCut = slices.direct && by === 'time' && total > keys.length;
      const shown = isCut
        ? await directOf(select, timed(filter, bucketSeconds), uncounted, bucketSeconds)
        : { ...slices, filter, reads: by === 'time' ? slices.reads : undefined };
      const rows = await select<GroupRow & { lists: object | null }>(selectGroups(grouping, shown));
      const byKey = new Map(
        rows.map(({ lists, ...row }) => [String(row.key), { ...noLists, ...lists, ...row }]),
      );
      return { data: keys.flatMap(({ key }) => byKey.get(String(key)) ?? []), pagination };
    });
  }

  /** One row without `bucketSeconds`, whose bucket means nothing. */
  figures(filter: SpanFilter, bucketSeconds?: number): Promise<views.BucketView[]> {
    const wanted = timed(filter, bucketSeconds);
    const runs = isOfTime(filter) ? () => 'true' : undefined;
    return this.read(filter.project, runs, async (select, uncounted) => {
      const slices = runs ? await directOf(select, wanted, uncounted, bucketSeconds) : wanted;
      return select(selectFigures(slices, bucketSeconds));
    });
  }

  /** Counts the runs that lost spans, or that an older server counted, and forgets those that have no spans any more. */
  async settle(): Promise<void> {
    for (let left = maxCounted; left === maxCounted;) {
      const runs = await this.select<UncountedRun>(
        selectUncounted(undefined, () => 'figures IS NOT NULL', maxCounted),
      );
      for (const [project, lost] of Map.groupBy(runs, (run) => run.project)) await this.count(project, lost);
      left = runs.length;
    }
  }

  /** Asks about runs once they are counted. Some may have changed since, or cannot be stored: `uncounted`. */
  private async read<T>(
    project: string,
    runs: RunsRead,
    ask: (select: Select, uncounted: string[]) => Promise<T>,
  ): Promise<T> {
    for (let looks = 0; ;) {
      const seen = await this.atOnce(async (select): Promise<Seen<T>> => {
        const uncounted = await select<UncountedRun>(selectUncounted(project, runs, maxCounted));
        const isFull = uncounted.length === maxCounted;
        const isEnough = looks > 0 && !isFull && !uncounted.some(({ unsettled }) => unsettled);
        if (uncounted.length > 0 && looks < maxLooks && !isEnough) return { uncounted, isFull };
        return {
          answer: await ask(
            select,
            uncounted.map(({ key }) => key),
          ),
        };
      });
      if ('answer' in seen) return seen.answer;
      // A database that takes no changes is read all the same.
      const isCounted = await this.count(project, seen.uncounted).then(
        () => true,
        () => false,
      );
      if (!isCounted) looks = maxLooks;
      else if (!seen.isFull) looks += 1;
    }
  }

  private async count(project: string, runs: readonly UncountedRun[]): Promise<void> {
    await this.select(
      countSlices(
        project,
        runs.map(({ key }) => key),
      ),
    );
    await this.select(settleRuns(project, runs));
  }
}

/** Conditions that whole runs meet or not, and those of when a span starts. */
const isOfRuns = ({ project: _, runIds: __, runKind: ___, ...others }: SpanFilter): boolean =>
  Object.keys(others).length === 0;
const isOfTime = ({ project: _, runKind: __, startUs: ___, endUs: ____, ...others }: SpanFilter): boolean =>
  Object.keys(others).length === 0;

const rangeOf = ({ project, startUs, endUs }: SpanFilter): Slices['reads'] =>
  startUs === undefined && endUs === undefined
    ? undefined
    : { project, ...(startUs !== undefined && { startUs }), ...(endUs !== undefined && { endUs }) };

const timed = (filter: SpanFilter, bucketSeconds = slotSeconds): Slices => ({
  filter,
  within: undefined,
  reads: rangeOf(filter),
  seconds: bucketSeconds % slotSeconds === 0 ? slotSeconds : bucketSeconds,
});

/** Finds the runs whose spans are counted now. Where too many are not counted these are all. */
async function directOf(
  select: Select,
  slices: Slices,
  uncounted: string[],
  bucketSeconds?: number,
): Promise<Slices> {
  if (uncounted.length === maxCounted) return slices;
  if (slices.within === 'run_id') return { ...slices, direct: uncounted };
  const direct = await select<{ key: string }>(selectDirect(slices, uncounted, bucketSeconds));
  return { ...slices, direct: direct.map(({ key }) => key) };
}

/** The spans of these groups: all of a run or a thread, those of a span of time that match. */
function ofGroups(
  grouping: Grouping,
  { project, ...filter }: SpanFilter,
  keys: readonly { key: string }[],
): SpanFilter {
  const named = keys.map(({ key }) => key);
  if (grouping.by !== 'time') return { project, [grouping.by === 'run' ? 'runIds' : 'threadIds']: named };
  const buckets = named.map(Number);
  const first = Math.min(...buckets);
  const last = Math.max(...buckets) + grouping.bucketSeconds * 1_000_000 - 1;
  return {
    ...filter,
    project,
    startUs: Math.max(first, filter.startUs ?? first),
    endUs: Math.min(last, filter.endUs ?? last),
  };
}
