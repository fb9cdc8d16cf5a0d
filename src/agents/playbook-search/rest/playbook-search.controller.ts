import { Get, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { ApiRoutes } from '../../../web/auth/scopes.decorator.js';
import { Answers } from '../../../web/rest/answers.decorator.js';
import { PlaybookAnswerView, SearchPlaybooksQuery } from './playbook-search.dto.js';
import { type FieldProblem, invalidRequest } from '../../../base/common/errors.js';
import { escapePointer } from '../../../base/common/field-problems.js';
import { DtoPipe } from '../../../web/rest/dto.pipe.js';
import { normalisedLabels } from '../label-filter.js';
import type { PlaybookAnswer, PlaybookSearch } from '../playbook-source.js';
import { PlaybookIndex } from '../catalogue/playbook-index.js';

/** Max playbooks in an explanation; `playbook_id` selects others. */
const maxExplained = 200;

/** Prefix of parameters that are labels: `label.environment=production`. */
const labelPrefix = 'label.';
const maxLabels = 32;
const dtoPipe = new DtoPipe();

/** A search over REST, which authors of playbooks may have explained. */
interface RestSearch extends PlaybookSearch {
  readonly explain: boolean;
  /** The only playbook to explain. */
  readonly explainOnly: string | undefined;
}

/**
 * The query string of a search. The parameters `label.<key>=value` are read separately, because a DTO cannot list them
 * and the global pipe would refuse them.
 */
const SearchQuery = createParamDecorator((_: unknown, context: ExecutionContext): Promise<RestSearch> => {
  const { query } = context.switchToHttp().getRequest<FastifyRequest>();
  return parseSearchQuery(query as Record<string, unknown>);
});

/** Reads the parameters of a search. @throws Problem `invalid_request` with the first problem of each wrong parameter */
export async function parseSearchQuery(parameters: Readonly<Record<string, unknown>>): Promise<RestSearch> {
  const entries = Object.entries(parameters);
  const labels = labelsFrom(entries.filter(([name]) => name.startsWith(labelPrefix)));
  const rest = Object.fromEntries(entries.filter(([name]) => !name.startsWith(labelPrefix)));
  const query = await dtoPipe.read(SearchPlaybooksQuery, rest, 'query');
  return {
    query: query.query,
    labels,
    similarityThreshold: query.min_confidence,
    limit: query.max_results,
    explain: query.explain,
    explainOnly: query.playbook_id,
  };
}

/** The labels in parameters. @throws Problem `invalid_request` */
function labelsFrom(entries: readonly (readonly [string, unknown])[]): Record<string, string> {
  const problems: FieldProblem[] = [];
  const labels: Record<string, string> = {};
  for (const [name, value] of entries) {
    const key = name.slice(labelPrefix.length);
    const pointer = `/${escapePointer(name)}`;
    if (key !== '' && typeof value === 'string' && value.trim() !== '') labels[key] = value;
    else problems.push({ pointer, detail: 'must be label.<key>=<value>, each key once' });
  }
  if (entries.length > maxLabels)
    problems.push({ pointer: '/label', detail: `must be at most ${maxLabels} labels` });
  if (problems.length > 0) throw invalidRequest(...problems);
  return labels;
}

/** The route of a search, next to those of the catalogue. */
@ApiRoutes('api/v1/playbooks', 'playbooks', 'tools:call')
export class PlaybookSearchController {
  constructor(private readonly index: PlaybookIndex) {}

  @Get('search')
  @Answers(
    PlaybookAnswerView,
    'Find playbooks for an incident',
    'Labels filter before ranking: a playbook with another value of a given key is never shown. With `explain=true` ' +
      'the answer also explains why each playbook was left out, or its confidence.',
  )
  @ApiQuery({ type: SearchPlaybooksQuery })
  @ApiQuery({
    name: 'label',
    required: false,
    description: 'Labels of the incident, as `label.<key>=<value>`, such as `label.environment=production`',
    style: 'form',
    explode: true,
    // The example is in the schema, because Swagger UI makes up names otherwise.
    schema: {
      type: 'object',
      additionalProperties: { type: 'string' },
      example: { 'label.environment': 'production' },
    },
  })
  async searchPlaybooks(@SearchQuery() query: RestSearch): Promise<PlaybookAnswer> {
    return query.explain ? this.explain(query) : (await this.index.find(query)).answer;
  }

  private async explain(query: RestSearch): Promise<PlaybookAnswerView> {
    const { answer, explained, degraded, revision } = await this.index.explain(query);
    const { explainOnly } = query;
    const labels = [...normalisedLabels(query.labels)].map(
      ([key, values]) => [key, values.join(', ')] as const,
    );
    const wanted = explained.filter(
      ({ playbook_id }) => explainOnly === undefined || playbook_id === explainOnly,
    );
    return {
      playbooks: [...answer.playbooks],
      total_results: answer.total_results,
      explanation: {
        catalogue_revision: revision,
        min_confidence: query.similarityThreshold,
        max_results: query.limit,
        labels: Object.fromEntries(labels),
        degraded: degraded ?? null,
        candidates: wanted.slice(0, maxExplained),
        total_candidates: wanted.length,
      },
    };
  }
}
