import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import type { FieldProblem } from '../../common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import type { Tool, ToolDefinition, ToolRun } from '../../tool-contract/tool.js';
import { ToolRegistry } from '../../tools/tool-registry.js';
import { askSource } from '../source-run.js';
import type { HistoricalContext } from './answers.js';
import { DataStorageClient } from './data-storage-client.js';
import { contextRequest, getContextSchema, problemsOf } from './get-context.input.js';

const what = 'Historical context';

/** What happened at earlier incidents of an alert. Offered only where a Data Storage service is configured. */
@Injectable()
export class GetContextTool implements Tool, OnModuleInit {
  readonly watchesDeadline = true;
  readonly definition: ToolDefinition;
  private readonly logger = new Logger(GetContextTool.name);

  constructor(
    private readonly registry: ToolRegistry,
    private readonly client: DataStorageClient,
    @Inject(APP_CONFIG) { playbooks }: Pick<AppConfig, 'playbooks'>,
  ) {
    this.definition = {
      name: 'get_context',
      description:
        'Retrieve historical context for similar incidents. Use when investigation requires knowing how incidents ' +
        'like the current one went before. Recommended for recurring or complex failures.',
      kind: 'builtin',
      version: '1.0.0',
      inputSchema: getContextSchema,
      annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
      tags: ['incidents'],
      timeoutMs: client.longestMs,
      fallback: this.fallback(`${what} is not available`),
      cacheTtlMs: playbooks.cacheTtlMs,
    };
  }

  onModuleInit(): void {
    this.registry.register(this);
  }

  /** The LLM reads why there is no answer, and may mend its input or go on without. */
  fallback(reason: string): object {
    return { error: reason, fallback: 'continue_without_context' };
  }

  validate(input: unknown): readonly FieldProblem[] {
    return problemsOf(input);
  }

  cacheKey(input: unknown): unknown {
    return contextRequest(input);
  }

  /** @throws ToolFailure `cancelled`, or `upstream_unavailable` when the service gives no answer in time */
  async run(input: unknown, run: ToolRun): Promise<HistoricalContext> {
    const request = contextRequest(input);
    const ask = (signal: AbortSignal) => this.client.enrichContext(request, signal);
    const { answer } = await askSource(run, ask, what, (error) =>
      this.logger.warn({ event: 'historical_context_failed', error: String(error) }, 'no context was found'),
    );
    return answer;
  }
}
