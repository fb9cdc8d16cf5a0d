import type { Statement } from '../../../base/database/statement.js';
import type { GroupFilter } from './groups.sql.js';
import { type RunRow, selectMarked, selectRuns, selectUnsettled, storeRuns } from './runs.sql.js';
import type { Page, SpanFilter } from './span-filter.sql.js';

type Select = <Row>(statement: Statement) => Promise<Row[]>;
type Marked = Pick<RunRow<never>, 'key' | 'version'>;

/** Runs settled at a time. */
const maxSettled = 500;
/** Looks for a page while others delete spans of the project. */
const maxLooks = 5;

/**
 * Figures of runs. The table has them from when they were counted last; its triggers mark a run whenever one of its spans
 * comes, changes or goes, and a marked run is counted when it is read.
 */
export class RunFigures<Figures extends { readonly key: string }> {
  constructor(
    private readonly select: Select,
    private readonly count: (project: string, keys: string[]) => Promise<Figures[]>,
  ) {}

  /** One page of the runs that meet conditions, the newest first; undefined if figures cannot be stored just now. */
  async page(
    filter: SpanFilter,
    groups: GroupFilter,
    page: Page,
  ): Promise<{ rows: Figures[]; total: number } | undefined> {
    const isAny = Object.keys(groups).length === 0;
    if (!isAny) await this.countMarked(filter);
    for (let look = 1; ; look += 1) {
      const rows = await this.select<RunRow<Figures>>(selectRuns(filter, groups, page));
      if (!isAny && rows[0]?.marked) return undefined;
      const marked = rows.filter(({ key, figures }) => key !== null && !figures);
      const counted = await this.settled(filter.project, marked);
      const isRight = counted.size === marked.length && !rows[0]?.unsettled;
      if (isRight || look === maxLooks) {
        const figuresOf = ({ key, figures }: RunRow<Figures>) => figures ?? counted.get(key ?? '') ?? [];
        return { rows: rows.flatMap(figuresOf), total: rows[0]?.total ?? 0 };
      }
      await this.settle(filter.project);
    }
  }

  /** Counts the runs that lost spans, and forgets those that have none any more. */
  async settle(project?: string): Promise<void> {
    for (let left = maxSettled; left === maxSettled;) {
      const runs = await this.select<Marked & { project: string }>(selectUnsettled(project, maxSettled));
      for (const [of, marked] of Map.groupBy(runs, (run) => run.project)) await this.settled(of, marked);
      left = runs.length;
    }
  }

  /** Counts each marked run of a filter once. Some may be marked again meanwhile, or cannot be stored. */
  private async countMarked(filter: SpanFilter): Promise<void> {
    for (let key: string | null | undefined = ''; typeof key === 'string';) {
      const marked: Marked[] = await this.select<Marked>(selectMarked(filter, key, maxSettled));
      await this.settled(filter.project, marked);
      key = marked[maxSettled - 1]?.key;
    }
  }

  /** Counts runs and stores their figures. A database that takes no changes is read all the same. */
  private async settled(project: string, marked: readonly Marked[]): Promise<Map<string, Figures>> {
    if (marked.length === 0) return new Map();
    const counted = await this.count(
      project,
      marked.flatMap(({ key }) => key ?? []),
    );
    const figures = new Map(counted.map((row) => [row.key, row]));
    await this.select(storeRuns(project, marked, figures)).catch(() => []);
    return figures;
  }
}
