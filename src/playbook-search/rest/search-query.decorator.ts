import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type FieldProblem, invalidRequest } from '../../common/errors.js';
import { DtoPipe } from '../../common/dto.pipe.js';
import type { AuthorsQuery } from './playbook-search.service.js';
import { SearchPlaybooksQuery } from './playbook-search.shapes.js';

const labelPrefix = 'label.';
const maxLabels = 32;
const dtos = new DtoPipe();

/**
 * The query string of a search. `label.<key>=value` names fields that no DTO can list, and the global pipe would
 * refuse them: they are taken out before the rest is validated.
 */
export const SearchQuery = createParamDecorator((_: unknown, context: ExecutionContext): Promise<AuthorsQuery> => {
  const { query } = context.switchToHttp().getRequest<FastifyRequest>();
  return parseSearchQuery(query as Record<string, unknown>);
});

/** @throws Problem `invalid_request` naming every wrong parameter's first problem */
export async function parseSearchQuery(
  parameters: Readonly<Record<string, unknown>>,
): Promise<AuthorsQuery> {
  const entries = Object.entries(parameters);
  const labels = labelsFrom(entries.filter(([name]) => name.startsWith(labelPrefix)));
  const rest = Object.fromEntries(entries.filter(([name]) => !name.startsWith(labelPrefix)));
  const query = await dtos.read(SearchPlaybooksQuery, rest, 'query');
  return {
    query: query.query,
    labels,
    similarityThreshold: query.min_confidence,
    limit: query.max_results,
    explain: query.explain,
    explainOnly: query.playbook_id,
  };
}

function labelsFrom(entries: readonly (readonly [string, unknown])[]): Record<string, string> {
  const problems: FieldProblem[] = [];
  const labels: Record<string, string> = {};
  for (const [name, value] of entries) {
    const key = name.slice(labelPrefix.length);
    if (key !== '' && typeof value === 'string' && value.trim() !== '') labels[key] = value;
    else problems.push({ pointer: `/${name}`, detail: 'must be label.<key>=<value>, each key once' });
  }
  if (entries.length > maxLabels)
    problems.push({ pointer: '/label', detail: `must be at most ${maxLabels} labels` });
  if (problems.length > 0) throw invalidRequest(...problems);
  return labels;
}
