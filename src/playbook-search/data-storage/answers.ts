import { isObject } from '../../common/json.js';
import { UpstreamFailure } from '../../outbound/upstream-failure.js';
import type { PlaybookAnswer, PlaybookHit, PlaybookSearch } from '../playbook-source.js';

const longestName = 256;
const longestDescription = 10_000;

/** What the service knows of earlier incidents of an alert; full names, as the LLM reads them. */
export interface HistoricalContext {
  readonly similar_incidents: readonly unknown[];
  readonly patterns: object;
  readonly success_rates: object;
}

/**
 * The body of an answer: four fields a playbook and no other, whatever else the service says; nothing below the
 * threshold and no more than was asked for.
 * @throws UpstreamFailure `invalid_answer`
 */
export function playbookAnswer(
  body: unknown,
  { similarityThreshold, limit }: PlaybookSearch,
): PlaybookAnswer {
  const { playbooks, total_results: total } = fieldsOf(body, 'the answer');
  if (!Array.isArray(playbooks)) throw invalid('playbooks is no array');
  if (!Number.isInteger(total) || Number(total) < 0) throw invalid('total_results is no count');
  const hits = playbooks
    .map(hitOf)
    .filter(({ confidence }) => confidence >= similarityThreshold)
    .sort((a, b) => b.confidence - a.confidence)
    .slice(0, limit);
  return { playbooks: hits, total_results: hits.length };
}

/**
 * The body of the context's enrichment; what is absent is empty.
 * @throws UpstreamFailure `invalid_answer`
 */
export function historicalContext(body: unknown): HistoricalContext {
  const { similar_incidents = [], patterns = {}, success_rates = {} } = fieldsOf(body, 'the answer');
  if (!Array.isArray(similar_incidents)) throw invalid('similar_incidents is no array');
  if (!isObject(patterns)) throw invalid('patterns is no object');
  if (!isObject(success_rates)) throw invalid('success_rates is no object');
  return { similar_incidents, patterns, success_rates };
}

function hitOf(value: unknown, index: number): PlaybookHit {
  const where = `playbooks[${index}]`;
  const { playbook_id, version, description, confidence } = fieldsOf(value, where);
  if (!isText(playbook_id, longestName)) throw invalid(`${where}.playbook_id is no name`);
  if (!isText(version, longestName)) throw invalid(`${where}.version is no version`);
  if (!isText(description, longestDescription)) throw invalid(`${where}.description is no text`);
  if (typeof confidence !== 'number' || !(confidence >= 0 && confidence <= 1))
    throw invalid(`${where}.confidence is not between 0 and 1`);
  return { playbook_id, version, description, confidence: Math.round(confidence * 100) / 100 };
}

const isText = (value: unknown, longest: number): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= longest;

function fieldsOf(value: unknown, what: string): Record<string, unknown> {
  if (!isObject(value)) throw invalid(`${what} is no object`);
  return value;
}

const invalid = (what: string): UpstreamFailure =>
  new UpstreamFailure('invalid_answer', `the answer is not of the agreed shape: ${what}`);
