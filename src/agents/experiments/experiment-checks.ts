import { type FieldProblem, invalidRequest } from '../../base/common/errors.js';
import { escapePointer } from '../../base/common/field-problems.js';
import { isDeeperThan } from '../../base/common/json-depth.js';
import { memberOf } from '../../records/spans/ingest/attribute-lookup.js';
import type { Json, UpdateExperimentBody } from './experiments.dto.js';

/** Max characters of each field as JSON. */
const maxChars = { request: 524_288, variables: 131_072, parameters: 16_384 };
const maxHeaders = 32;
/** Max levels of a request. The attributes of spans may have more. */
const maxLevels = 100;

/** Header names of HTTP, and values that all HTTP clients can send. */
const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const headerValue = /^[\t\x20-\x7e]{0,1000}$/;
/** Transport and content headers, which the server sets itself. */
const serverHeaders = new Set(
  'host connection content-length content-type content-encoding expect keep-alive te trailer transfer-encoding upgrade accept accept-encoding x-label'.split(
    ' ',
  ),
);
/** Headers with credentials. The server sends its own key and stores no other. */
const credentialHeaders = /(^|[-_])(authorization|cookie|api[-_]?key|token|secret|password)$/i;

/** Checks the settings of an experiment. @throws Problem `invalid_request` that names all invalid fields */
export function checkSettings(settings: UpdateExperimentBody & { readonly original_request?: Json }): void {
  const { headers = {}, original_request: original, modified_request: modified } = settings;
  const problems = [
    ...(original ? problemsAt('/original_request', requestProblem(original)) : []),
    ...(modified ? problemsAt('/modified_request', requestProblem(modified)) : []),
    ...problemsAt('/prompt_variables', lengthProblem(settings.prompt_variables, maxChars.variables)),
    ...problemsAt('/model_parameters', lengthProblem(settings.model_parameters, maxChars.parameters)),
    ...headerProblems(headers),
  ];
  if (problems.length > 0) throw invalidRequest(...problems);
}

function headerProblems(headers: Readonly<Record<string, string>>): FieldProblem[] {
  const entries = Object.entries(headers);
  if (entries.length > maxHeaders) return problemsAt('/headers', `may hold ${maxHeaders} headers`);
  return entries.flatMap(([name, value]) =>
    problemsAt(`/headers/${escapePointer(name)}`, headerProblem(name, value)),
  );
}

/** The problem of a field as a list; an empty list for undefined. */
const problemsAt = (pointer: string, detail: string | undefined): FieldProblem[] =>
  detail === undefined ? [] : [{ pointer, detail }];

/** The reason why a request cannot be sent to a model; undefined if it can. */
export function requestProblem(request: Json): string | undefined {
  if (isDeeperThan(request, maxLevels)) return `must be nested at most ${maxLevels} levels deep`;
  const { messages } = request;
  if (!Array.isArray(messages) || messages.length === 0) return 'must have messages, as OpenAI has them';
  if (!messages.every((message) => typeof memberOf(message, 'role') === 'string'))
    return 'must have messages with a role each';
  return lengthProblem(request, maxChars.request);
}

const lengthProblem = (value: Json | undefined, max: number): string | undefined =>
  value && JSON.stringify(value).length > max ? `must have at most ${max} characters as JSON` : undefined;

function headerProblem(name: string, value: string): string | undefined {
  if (!headerName.test(name)) return 'must be named as HTTP names headers';
  if (serverHeaders.has(name.toLowerCase())) return 'must be left out: the server sets it itself';
  if (credentialHeaders.test(name))
    return 'must be left out: the server shows its own key, and keeps no other';
  return isHeaderValue(value) ? undefined : 'must be printable ASCII, 1000 characters at most';
}

export const isHeaderValue = (text: string): boolean => headerValue.test(text);
