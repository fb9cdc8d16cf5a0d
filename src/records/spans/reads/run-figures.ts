import type { Statement } from '../../../base/database/statement.js';
import { type RunRow, selectRuns, selectUnsettled, storeRuns } from './runs.sql.js';
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

  /** One page of runs of which a span matches, the newest first. */
  async page(filter: SpanFilter, page: Page): Promise<{ rows: Figures[]; total: number }> {
    for (let look = 1; ; look += 1) {
      const rows = await this.select<RunRow<Figures>>(selectRuns(filter, page));
      const marked = rows.filter(({ key, figures }) => key !== null && !figures);
      const counted = await this.settled(filter.project, marked);
      const isRight = counted.size === marked.length && rows[0]?.unsettled !== true;
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
