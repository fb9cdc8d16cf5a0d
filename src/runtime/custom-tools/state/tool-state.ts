import type { ToolEvent } from '../../../base/streams/tool-events.js';
import { sanitisedText } from '../../../base/common/pg-text.js';
import type { Ending, Reply } from '../../process-pool/pool.types.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';

/** Columns of a tool's row that say how it is. */
export type ToolCondition = Pick<CustomTool, 'status' | 'healthStatus' | 'errorMessage'>;
export type StatedHealth = Pick<CustomTool, 'healthStatus' | 'errorMessage'>;

/** Kinds of trouble, the mildest first. Each is an event of the tool. */
const kinds = ['degraded', 'crashed', 'failed'] as const;

interface Trouble {
  readonly kind: (typeof kinds)[number];
  readonly message: string;
  readonly data: ToolEvent['data'];
}

/** A tool at this replica. Absent columns are as in its row. */
export interface ToolState extends Partial<ToolCondition> {
  readonly lastHealthCheck?: Date;
  /** The worst since it was last well. */
  readonly trouble?: Trouble | undefined;
}

/** Takes the result of a check or of a start; empty: nothing speaks against the tool. */
export function found(
  { trouble: before, ...state }: ToolState,
  result: Partial<ToolCondition>,
  crash?: Trouble,
): ToolState {
  const { errorMessage: why } = result;
  const columns = why ? { ...result, errorMessage: storableMessage(why) } : result;
  const trouble = crash ?? troubleOf(columns);
  const isWorse = trouble && (!before || kinds.indexOf(before.kind) < kinds.indexOf(trouble.kind));
  const isWell = columns.healthStatus === 'healthy' && !trouble;
  const worst = isWorse ? trouble : before;
  return { ...state, ...columns, lastHealthCheck: new Date(), trouble: isWell ? undefined : worst };
}

/** A process ended by itself. A tool that crashes with every call has crashed once, until it is well again. */
export function crashed(
  state: ToolState,
  { exitCode, signal }: Pick<Ending, 'exitCode' | 'signal'>,
): ToolState {
  const message = `A process of it ended ${signal === null ? `with exit code ${exitCode}` : `by ${signal}`}`;
  const trouble = { kind: 'crashed', message, data: { exitCode, signal } } as const;
  const after = found(state, { healthStatus: 'unhealthy', errorMessage: message }, trouble);
  return after.trouble === trouble ? after : state;
}

/** A call succeeded, which mends a tool that has crashed without waiting for the next check. */
export const answered = (state: ToolState, health: StatedHealth): ToolState =>
  state.trouble?.kind === 'crashed' ? found(state, health) : state;

/** A process of it has started, which mends a tool that could not be started. */
export const started = (state: ToolState): ToolState =>
  state.status === 'error' ? found(state, { status: 'active', ...wellNow }) : state;

/** Its row was written: the row says how it is, also here. */
export const stored = ({ trouble }: ToolState, row: ToolCondition): ToolState => ({
  trouble: found({ trouble }, row).trouble,
});

function troubleOf({ status, healthStatus, errorMessage }: Partial<ToolCondition>): Trouble | undefined {
  if (status === 'error')
    return { kind: 'failed', message: errorMessage ?? 'It cannot be started', data: { status } };
  if (healthStatus !== 'degraded' && healthStatus !== 'unhealthy') return undefined;
  const message = errorMessage ?? `It says of itself that it is ${healthStatus}`;
  return { kind: 'degraded', message, data: { healthStatus } };
}

/** The event of a change; undefined if the tool is neither worse nor well again. */
export function eventOf(
  before: ToolState,
  after: ToolState,
): Pick<ToolEvent, 'type' | 'message' | 'data'> | undefined {
  const [from, to] = [before.trouble, after.trouble];
  if (to) return to === from ? undefined : { type: `tool.${to.kind}`, message: to.message, data: to.data };
  return (
    from && { type: 'tool.recovered', message: 'It starts and answers again', data: { from: from.kind } }
  );
}

const maxMessage = 4_096;

/** Words for a tool's row that may come from the tool itself: its stderr, its answer to `health`. */
const storableMessage = (text: string): string => sanitisedText(text).slice(0, maxMessage);

const wellNow: StatedHealth = { healthStatus: 'healthy', errorMessage: null };

/** The condition in an answer to `health`. Without a known status the tool is healthy, because it answered. */
export function healthOf(reply: Reply): StatedHealth {
  if ('error' in reply) {
    const { code, message } = reply.error;
    // -32601: it has no such method.
    return code === -32601 ? wellNow : { healthStatus: 'degraded', errorMessage: message };
  }
  const { status, message } = (reply.result ?? {}) as { status?: unknown; message?: unknown };
  if (status !== 'degraded' && status !== 'unhealthy') return wellNow;
  return { healthStatus: status, errorMessage: typeof message === 'string' ? message : null };
}

/**
 * Columns of a tool that has just answered `initialize`.
 * @param health its answer to `health`; undefined: none within the time of a test start, which is no fault yet
 */
export function answeredNow(health: Reply | undefined) {
  const { healthStatus, errorMessage } = health ? healthOf(health) : wellNow;
  const reason = errorMessage === null ? null : storableMessage(errorMessage);
  return { healthStatus, errorMessage: reason, lastHealthCheck: new Date() };
}

/** Columns of a tool that cannot be started. */
export function brokenBy(reason: string) {
  const errorMessage = storableMessage(reason);
  return { status: 'error', healthStatus: 'unhealthy', lastHealthCheck: new Date(), errorMessage } as const;
}
