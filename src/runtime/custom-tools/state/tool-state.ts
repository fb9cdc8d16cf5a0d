import { sanitisedText } from '../../../base/common/pg-text.js';
import type { ToolEvent } from '../../../base/streams/tool-events.js';
import type { Ending, Reply } from '../../process-pool/pool.types.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';

/**
 * The status and health of a tool, as in its row: from its processes and health checks. The grade from its calls is in
 * src/insight/tool-health/grading.ts.
 */
export type ToolCondition = Pick<CustomTool, 'status' | 'healthStatus' | 'errorMessage'>;
/** The health columns, which a check sets. */
export type HealthColumns = Pick<CustomTool, 'healthStatus' | 'errorMessage'>;

/** Kinds of trouble, mildest first. Each has its event. */
const troubleKinds = ['degraded', 'crashed', 'failed'] as const;

/** A reason why a tool is not well. */
interface Trouble {
  readonly kind: (typeof troubleKinds)[number];
  readonly message: string;
  readonly data: ToolEvent['data'];
}

/** A tool at this replica. Absent columns are as in its row. */
export interface ToolState extends Partial<ToolCondition> {
  readonly lastHealthCheck?: Date;
  /** The worst trouble since the tool was last well. */
  readonly trouble?: Trouble | undefined;
}

/** The state after a check or a start. @param result the columns that it determined @param crash if it was a crash */
export function withResult(
  { trouble: before, ...state }: ToolState,
  result: Partial<ToolCondition>,
  crash?: Trouble,
): ToolState {
  const { errorMessage: why } = result;
  const columns = why ? { ...result, errorMessage: storableMessage(why) } : result;
  const trouble = crash ?? troubleOf(columns);
  const isWorse =
    trouble && (!before || troubleKinds.indexOf(before.kind) < troubleKinds.indexOf(trouble.kind));
  const isWell = columns.healthStatus === 'healthy' && !trouble;
  const worst = isWorse ? trouble : before;
  return { ...state, ...columns, lastHealthCheck: new Date(), trouble: isWell ? undefined : worst };
}

/** The state after a crash. If the tool already had this or worse trouble, nothing changes. */
export function afterCrash(
  state: ToolState,
  { exitCode, signal }: Pick<Ending, 'exitCode' | 'signal'>,
): ToolState {
  const how = signal === null ? `with exit code ${exitCode}` : `by ${signal}`;
  const message = `A process of it ended ${how}`;
  const trouble = { kind: 'crashed', message, data: { exitCode, signal } } as const;
  const after = withResult(state, { healthStatus: 'unhealthy', errorMessage: message }, trouble);
  return after.trouble === trouble ? after : state;
}

/** The state after a successful call, which ends the trouble of a crash at once. */
export const afterSuccessfulCall = (state: ToolState, health: HealthColumns): ToolState =>
  state.trouble?.kind === 'crashed' ? withResult(state, health) : state;

/** The state after the start of a process, which ends status `error`. */
export const afterStart = (state: ToolState): ToolState =>
  state.status === 'error' ? withResult(state, { status: 'active', ...healthyColumns }) : state;

/** The state after the tool's row was written: that of the row. */
export const afterRowWrite = ({ trouble }: ToolState, row: ToolCondition): ToolState => ({
  trouble: withResult({ trouble }, row).trouble,
});

/** The trouble that a tool's columns tell of, if any. */
function troubleOf({ status, healthStatus, errorMessage }: Partial<ToolCondition>): Trouble | undefined {
  if (status === 'error')
    return { kind: 'failed', message: errorMessage ?? 'It cannot be started', data: { status } };
  if (healthStatus !== 'degraded' && healthStatus !== 'unhealthy') return undefined;
  const message = errorMessage ?? `It reports that it is ${healthStatus}`;
  return { kind: 'degraded', message, data: { healthStatus } };
}

/** The event of a change; undefined if the tool is neither worse nor well again. */
export function eventOf(
  before: ToolState,
  after: ToolState,
): Pick<ToolEvent, 'type' | 'message' | 'data'> | undefined {
  const from = before.trouble;
  const to = after.trouble;
  if (to) return to === from ? undefined : { type: `tool.${to.kind}`, message: to.message, data: to.data };
  return (
    from && { type: 'tool.recovered', message: 'It starts and answers again', data: { from: from.kind } }
  );
}

/** Max characters of an error message in a row. */
const maxMessage = 4_096;

/** A text of the tool, such as its stderr, as its row can store it. */
const storableMessage = (text: string): string => sanitisedText(text).slice(0, maxMessage);

/** The health of a tool without faults. */
export const healthyColumns: HealthColumns = { healthStatus: 'healthy', errorMessage: null };

/** The condition in an answer to `health`. Without a known status the tool is healthy, because it answered. */
export function healthOf(reply: Reply): HealthColumns {
  if ('error' in reply) {
    const { code, message } = reply.error;
    // -32601: the tool does not implement `health`.
    return code === -32601 ? healthyColumns : { healthStatus: 'degraded', errorMessage: message };
  }
  const { status, message } = (reply.result ?? {}) as { status?: unknown; message?: unknown };
  if (status !== 'degraded' && status !== 'unhealthy') return healthyColumns;
  return { healthStatus: status, errorMessage: typeof message === 'string' ? message : null };
}

/** The worst of several answers; undefined if there is none. */
export const worstHealth = (answers: readonly HealthColumns[]): HealthColumns | undefined =>
  answers.find(({ healthStatus }) => healthStatus === 'unhealthy') ??
  answers.find(({ healthStatus }) => healthStatus === 'degraded') ??
  answers[0];

/**
 * Columns of a tool that has just answered `initialize`.
 * @param health its answer to `health`; undefined if there was none during the test start, which is no fault
 */
export function columnsAfterAnswer(health: Reply | undefined) {
  const { healthStatus, errorMessage } = health ? healthOf(health) : healthyColumns;
  const reason = errorMessage === null ? null : storableMessage(errorMessage);
  return { healthStatus, errorMessage: reason, lastHealthCheck: new Date() };
}

/** Columns of a tool that cannot be started: status `error`. */
export function columnsOfBroken(reason: string) {
  const errorMessage = storableMessage(reason);
  return { status: 'error', healthStatus: 'unhealthy', lastHealthCheck: new Date(), errorMessage } as const;
}
