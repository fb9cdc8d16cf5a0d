import { Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';

/** One call of a playbook tool: sizes and hashes, never contents. Names are those that HolmesGPT's operators know. */
export interface PlaybookToolCall {
  readonly event: 'playbook_tool_call';
  readonly tool: string;
  /** Absent: the call belongs to none. */
  readonly investigation_id?: string;
  /** Absent: nothing was run. */
  readonly execution_id?: string;
  /** SHA-256 of the parameters as canonical JSON. */
  readonly parameters_hash: string;
  /** Bytes. */
  readonly result_size: number;
  readonly duration_seconds: number;
  readonly status: 'success' | 'error' | 'timeout' | 'refused';
  readonly error_type?: string;
  /** Answered from memory. */
  readonly cached: boolean;
  readonly trace_id?: string;
}

@Injectable()
export class PlaybookLog {
  constructor(private readonly logger: PinoLogger) {}

  /** What is answered from memory comes often and costs microseconds: a line for it would cost more. */
  tells(cached: boolean): boolean {
    return this.logger.logger.isLevelEnabled(cached ? 'debug' : 'info');
  }

  write(entry: PlaybookToolCall): void {
    const level = entry.cached ? 'debug' : entry.status === 'success' ? 'info' : 'warn';
    this.logger[level](entry, 'playbook tool call');
  }
}
