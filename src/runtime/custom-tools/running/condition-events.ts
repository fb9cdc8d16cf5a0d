import type { ToolEvent } from '../../../base/streams/tool-events.js';
import type { ToolCondition } from '../entity/tool-conditions.js';
import type { RuntimeEvent } from './running-tools.js';

/** Conditions of a tool that is not well, the mildest first. */
const ailments = ['degraded', 'crashed', 'failed'] as const;
type Ailment = (typeof ailments)[number];
type Report = Omit<ToolEvent, 'timestamp'>;
type Terminated = Extract<RuntimeEvent, { type: 'terminate' }>;
export type NamedCondition = { readonly name: string } & Omit<ToolCondition, 'lastHealthCheck'>;

/**
 * Tells changes of a tool's condition from repetitions: a tool that crashes with every call has crashed once, until it
 * has recovered.
 */
export class ConditionEvents {
  private readonly known = new Map<string, Ailment>();

  constructor(private readonly report: (event: Report) => void) {}

  /** A process of the tool ended by itself. */
  crashed(tool: string, { exitCode, signal }: Pick<Terminated, 'exitCode' | 'signal'>): void {
    const end = { exitCode, signal };
    this.fell(tool, 'crashed', crashMessage(end), end);
  }

  /** It does not start any more. */
  failed(tool: string, message: string): void {
    this.fell(tool, 'failed', message, { status: 'error' });
  }

  /** Its processes start again. */
  recovered(tool: string): void {
    const from = this.known.get(tool);
    if (!this.known.delete(tool)) return;
    this.report({ type: 'tool.recovered', tool, message: 'It starts and answers again', data: { from } });
  }

  /** A condition was written into its row, which may be the same as before. */
  written({ name, status, healthStatus, errorMessage }: NamedCondition): void {
    if (status === 'inactive') this.forget(name);
    else if (status === 'error') this.failed(name, errorMessage ?? 'It cannot be started');
    else if (healthStatus === 'healthy') this.recovered(name);
    else if (healthStatus === 'degraded' || healthStatus === 'unhealthy') {
      const message = errorMessage ?? `It says of itself that it is ${healthStatus}`;
      this.fell(name, 'degraded', message, { healthStatus });
    }
  }

  forget(tool: string): void {
    this.known.delete(tool);
  }

  private fell(tool: string, to: Ailment, message: string, data: Report['data']): void {
    const from = this.known.get(tool);
    if (from !== undefined && ailments.indexOf(from) >= ailments.indexOf(to)) return;
    this.known.set(tool, to);
    this.report({ type: `tool.${to}`, tool, message, data });
  }
}

export const crashMessage = ({ exitCode, signal }: Pick<Terminated, 'exitCode' | 'signal'>): string =>
  `A process of it ended ${signal === null ? `with exit code ${exitCode}` : `by ${signal}`}`;
