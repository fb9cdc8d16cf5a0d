import type { FieldProblem } from '../../common/errors.js';
import type { JsonSchema } from '../../tool-contract/tool.js';
import type { ContextRequest } from './data-storage-client.js';

const maxFingerprintLength = 1_024;
const maxContextTypes = 32;
const maxContextTypeLength = 128;
const defaultThreshold = 0.7;

/** What the LLM reads; `problemsOf` is stricter. */
export const getContextSchema: JsonSchema = {
  type: 'object',
  properties: {
    alert_fingerprint: {
      type: 'string',
      description: 'Fingerprint of the alert under investigation (required)',
    },
    similarity_threshold: {
      type: 'number',
      description: 'Minimum cosine similarity score (0.0-1.0), default 0.70',
      default: defaultThreshold,
    },
    context_types: {
      type: 'array',
      items: { type: 'string' },
      description: 'Types of context to return; all when left out',
    },
  },
  required: ['alert_fingerprint'],
};

/** @returns every way in which the input is wrong; pointers are into the input */
export function problemsOf(input: unknown): FieldProblem[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return [{ pointer: '', detail: 'must be object' }];
  const fields = input as Record<string, unknown>;
  return [
    ...fingerprintProblems(fields['alert_fingerprint']),
    ...thresholdProblems(fields['similarity_threshold']),
    ...typesProblems(fields['context_types']),
    ...Object.keys(fields)
      .filter((name) => !known.has(name))
      .map((name) => ({
        pointer: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        detail: 'is not a parameter of get_context',
      })),
  ];
}

/** @param input one without problems */
export function contextRequest(input: unknown): ContextRequest {
  const fields = input as {
    alert_fingerprint: string;
    similarity_threshold?: number;
    context_types?: string[];
  };
  return {
    alertFingerprint: fields.alert_fingerprint,
    similarityThreshold: fields.similarity_threshold ?? defaultThreshold,
    // Equal sets ask the same.
    ...(fields.context_types && { contextTypes: [...new Set(fields.context_types)].sort() }),
  };
}

const known: ReadonlySet<string> = new Set(['alert_fingerprint', 'similarity_threshold', 'context_types']);

function fingerprintProblems(value: unknown): FieldProblem[] {
  const pointer = '/alert_fingerprint';
  if (value === undefined) return [{ pointer, detail: 'is required' }];
  if (typeof value !== 'string') return [{ pointer, detail: 'must be string' }];
  if (value.trim() === '') return [{ pointer, detail: 'must not be blank' }];
  return value.length > maxFingerprintLength
    ? [{ pointer, detail: `must be at most ${maxFingerprintLength} characters` }]
    : [];
}

function thresholdProblems(value: unknown): FieldProblem[] {
  const isValid = value === undefined || (typeof value === 'number' && value >= 0 && value <= 1);
  return isValid ? [] : [{ pointer: '/similarity_threshold', detail: 'must be a number from 0.0 to 1.0' }];
}

function typesProblems(value: unknown): FieldProblem[] {
  const pointer = '/context_types';
  if (value === undefined) return [];
  if (!Array.isArray(value)) return [{ pointer, detail: 'must be array' }];
  if (value.length > maxContextTypes)
    return [{ pointer, detail: `must have at most ${maxContextTypes} items` }];
  const isType = (type: unknown): boolean =>
    typeof type === 'string' && type.trim() !== '' && type.length <= maxContextTypeLength;
  return value.flatMap((type: unknown, index) =>
    isType(type)
      ? []
      : [
          {
            pointer: `${pointer}/${index}`,
            detail: `must be text of 1 to ${maxContextTypeLength} characters`,
          },
        ],
  );
}
