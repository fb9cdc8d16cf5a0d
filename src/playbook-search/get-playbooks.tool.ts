import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import type { FieldProblem } from '../common/errors.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { Tracer } from '../observability/tracing/tracer.js';
import { ShownPlaybooks } from '../playbooks/shown/shown-playbooks.js';
import type { CallContext } from '../tool-contract/call-context.js';
import type { Tool, ToolDefinition, ToolRun } from '../tool-contract/tool.js';
import { ToolRegistry } from '../tools/tool-registry.js';
import { getPlaybooksSchema, problemsOf, withDefaults } from './get-playbooks.input.js';
import {
  type FoundPlaybooks,
  PLAYBOOK_SOURCE,
  type PlaybookAnswer,
  type PlaybookSearch,
  type PlaybookSource,
} from './playbook-source.js';
import { askSource } from './source-run.js';

const what = 'Playbook search';

/**
 * Lets an LLM search for playbooks during an investigation. Labels come from the call's context, never
 * from the LLM; an empty answer is an answer. When search fails the LLM reads the fallback and goes on.
 */
@Injectable()
export class GetPlaybooksTool implements Tool, OnModuleInit {
  readonly watchesDeadline = true;
  readonly definition: ToolDefinition;
  private readonly logger = new Logger(GetPlaybooksTool.name);

  constructor(
    private readonly registry: ToolRegistry,
    @Inject(PLAYBOOK_SOURCE) private readonly source: PlaybookSource,
    @Inject(ShownPlaybooks) private readonly shown: Pick<ShownPlaybooks, 'remember'>,
    private readonly tracer: Tracer,
    @Inject(APP_CONFIG) { playbooks }: Pick<AppConfig, 'playbooks'>,
  ) {
    this.definition = {
      name: 'get_playbooks',
      description:
        'Search for relevant remediation workflows via semantic search. Use when investigation requires finding ' +
        'applicable playbooks for the current incident. Recommended for complex failures or when multiple ' +
        'remediation options exist.',
      kind: 'builtin',
      version: '1.0.0',
      inputSchema: getPlaybooksSchema,
      annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
      tags: ['incidents', 'playbooks'],
      timeoutMs: source.longestMs,
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

  /** A default that is written out asks the same; another state of the catalogue may answer otherwise. */
  cacheKey(input: unknown): unknown {
    const { query, similarity_threshold, limit } = withDefaults(input);
    return [this.source.revision, query, similarity_threshold, limit];
  }

  /** @throws ToolFailure `cancelled`, or `upstream_unavailable` when the source gives no answer in time */
  async run(input: unknown, run: ToolRun): Promise<PlaybookAnswer> {
    const { query, similarity_threshold: similarityThreshold, limit } = withDefaults(input);
    const search = { query, similarityThreshold, limit, labels: run.context.labels ?? {} };
    const ask = (signal: AbortSignal) => this.search(search, signal);
    const { answer } = await askSource(run, ask, what, (error) =>
      this.logger.warn({ event: 'playbook_search_failed', error: String(error) }, 'no playbooks were found'),
    );
    this.remember(answer, run.context);
    return answer;
  }

  /** What comes from memory is shown like anything else. */
  onReuse(result: unknown, context: CallContext): void {
    this.remember(result as PlaybookAnswer, context);
  }

  private search(search: PlaybookSearch, signal: AbortSignal): Promise<FoundPlaybooks> {
    const attributes = {
      'toolkeeper.playbooks.source': this.source.kind,
      'toolkeeper.playbooks.limit': search.limit,
      'toolkeeper.playbooks.labels': Object.keys(search.labels).length,
    };
    return this.tracer.span('playbooks.search', attributes, async (span) => {
      const found = await this.source.search(search, signal);
      span.set({ 'toolkeeper.playbooks.found': found.answer.total_results });
      if (found.stale) span.set({ 'toolkeeper.playbooks.stale': true });
      return found;
    });
  }

  private remember({ playbooks }: PlaybookAnswer, { investigationId }: CallContext): void {
    if (investigationId !== undefined) this.shown.remember(investigationId, playbooks);
  }
}
