import type { FieldProblem } from '../common/errors.js';
import type { JsonSchema } from '../tool-contract/tool.js';

export const maxQueryLength = 4_096;
export const maxPlaybooks = 10;
const defaults = { similarity_threshold: 0.7, limit: 5 };

/** What the tool is called with; absent fields have their defaults. */
export interface GetPlaybooksInput {
  readonly query: string;
  readonly similarity_threshold: number;
  readonly limit: number;
}

/** As published, letter for letter; `problemsOf` is stricter. */
export const getPlaybooksSchema: JsonSchema = {
  type: 'object',
  properties: {
    query: {
      type: 'string',
      description: 'Natural language query describing the incident (required)',
    },
    similarity_threshold: {
      type: 'number',
      description: 'Minimum cosine similarity score (0.0-1.0), default 0.70',
      default: 0.7,
    },
    limit: {
      type: 'integer',
      description: 'Maximum number of playbooks to return (default 5, max 10)',
      default: 5,
    },
  },
  required: ['query'],
};

/** @returns every way in which the input is wrong; pointers are into the input */
export function problemsOf(input: unknown): FieldProblem[] {
  if (!isObject(input)) return [{ pointer: '', detail: 'must be object' }];
  return [
    ...queryProblems(input),
    ...thresholdProblems(input['similarity_threshold']),
    ...limitProblems(input['limit']),
    ...Object.keys(input)
      .filter((name) => !Object.hasOwn(known, name))
      .map((name) => ({ pointer: `/${escaped(name)}`, detail: 'is not a parameter of get_playbooks' })),
  ];
}

/** @param input one without problems */
export function withDefaults(input: unknown): GetPlaybooksInput {
  const given = Object.entries(input as Partial<GetPlaybooksInput>).filter(
    ([, value]) => value !== undefined,
  );
  return { query: '', ...defaults, ...Object.fromEntries(given) };
}

const known = { query: true, similarity_threshold: true, limit: true };

function queryProblems(input: Record<string, unknown>): FieldProblem[] {
  const { query } = input;
  const pointer = '/query';
  if (query === undefined) return [{ pointer, detail: 'is required' }];
  if (typeof query !== 'string') return [{ pointer, detail: 'must be string' }];
  if (query.trim() === '') return [{ pointer, detail: 'must not be blank' }];
  return query.length > maxQueryLength
    ? [{ pointer, detail: `must be at most ${maxQueryLength} characters` }]
    : [];
}

function thresholdProblems(threshold: unknown): FieldProblem[] {
  const isValid =
    threshold === undefined || (typeof threshold === 'number' && threshold >= 0 && threshold <= 1);
  return isValid ? [] : [{ pointer: '/similarity_threshold', detail: 'must be a number from 0.0 to 1.0' }];
}

function limitProblems(limit: unknown): FieldProblem[] {
  const isValid =
    limit === undefined || (Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= maxPlaybooks);
  return isValid ? [] : [{ pointer: '/limit', detail: `must be an integer from 1 to ${maxPlaybooks}` }];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
