import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import type { FieldProblem } from '../common/errors.js';
import type { Tool, ToolDefinition, ToolRun } from '../tool-contract/tool.js';
import { ToolFailure } from '../tool-contract/tool-outcome.js';
import { ToolRegistry } from '../tools/tool-registry.js';
import { getPlaybooksSchema, problemsOf, withDefaults } from './get-playbooks.input.js';
import type { PlaybookAnswer } from './playbook.types.js';
import { PLAYBOOK_SOURCE, type PlaybookSource } from './playbook-source.js';

/**
 * Lets an LLM search for playbooks during an investigation (seed 002). Labels come from the call's context, never
 * from the LLM; an empty answer is an answer. When search fails the LLM reads the fallback and goes on.
 */
@Injectable()
export class GetPlaybooksTool implements Tool, OnModuleInit {
  private readonly logger = new Logger(GetPlaybooksTool.name);

  readonly definition: ToolDefinition = {
    name: 'get_playbooks',
    description:
      'Search for relevant remediation workflows via semantic search. Use when investigation requires finding ' +
      'applicable playbooks for the current incident. Recommended for complex failures or when multiple remediation ' +
      'options exist.',
    kind: 'builtin',
    version: '1.0.0',
    inputSchema: getPlaybooksSchema,
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
    tags: ['incidents', 'playbooks'],
    timeoutMs: 2_000,
    fallback: { error: 'Playbook search is not available', fallback: 'continue_without_context' },
  };

  constructor(
    private readonly registry: ToolRegistry,
    @Inject(PLAYBOOK_SOURCE) private readonly source: PlaybookSource,
  ) {}

  onModuleInit(): void {
    this.registry.register(this);
  }

  validate(input: unknown): readonly FieldProblem[] {
    return problemsOf(input);
  }

  /** @throws ToolFailure `upstream_unavailable` when the source cannot be read */
  async run(
    input: unknown,
    { context, signal }: Pick<ToolRun, 'context' | 'signal'>,
  ): Promise<PlaybookAnswer> {
    const { query, similarity_threshold: similarityThreshold, limit } = withDefaults(input);
    const search = { query, similarityThreshold, limit, labels: context.labels ?? {} };
    try {
      return (await this.source.search(search, signal)).answer;
    } catch (error) {
      // The reason is for the operator; the LLM only needs to know that it must go on without playbooks.
      this.logger.error(error, 'playbook search failed');
      throw new ToolFailure('upstream_unavailable', 'Playbook search is not available');
    }
  }
}
