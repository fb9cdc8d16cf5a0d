import { insertMetrics } from './batch-insert.sql.js';
import { metricParameters } from './metric-columns.js';
import type { ToolMetric } from './tool-metric.entity.js';

/** A sender of statements: a `pg` client, a pool, TypeORM's data source. */
export interface Queryable {
  query(text: string, values: unknown[]): Promise<unknown>;
}

/** The writer slot of metrics that come without a journal; journals lease theirs from 1 on. */
export const directSlot = 0;

/** A metric that cannot even be sent. */
export class UnstorableMetric extends Error {
  override readonly name = 'UnstorableMetric';
}

/** SQLSTATE classes of which a value is the cause: data exception, integrity violation, limit exceeded. */
const valueAtFault = /^(22|23|54)[\dA-Z]{3}$/;

/**
 * Writes metrics in one statement; ids that are there already change nothing, so that a batch may be repeated.
 * @param writerSlot no two writers share one at the same time
 * @throws UnstorableMetric, or what the database says; `isRowFault` tells whose fault it is
 */
export async function insertBatch(
  db: Queryable,
  metrics: readonly ToolMetric[],
  writerSlot: number,
): Promise<void> {
  if (metrics.length === 0) return;
  await db.query(insertMetrics, [...parametersOf(metrics), writerSlot]);
}

/** Trying again would fail again: the values are to blame, not the database. */
export function isRowFault(error: unknown): boolean {
  if (error instanceof UnstorableMetric) return true;
  return valueAtFault.test(sqlStateOf(error) ?? '');
}

function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  // TypeORM wraps the driver's error.
  const { code, driverError } = error as { code?: unknown; driverError?: { code?: unknown } };
  const state = driverError?.code ?? code;
  return typeof state === 'string' ? state : undefined;
}

function parametersOf(metrics: readonly ToolMetric[]): string[] {
  try {
    return metricParameters(metrics);
  } catch (error) {
    throw new UnstorableMetric('The metric cannot be written down', { cause: error });
  }
}
