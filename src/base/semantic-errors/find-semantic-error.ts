/** Certainty with which a wording reports an error. */
type Severity = 'high' | 'medium' | 'low';

/** Most severe first. */
const severities: readonly Severity[] = ['high', 'medium', 'low'];

/** A wording that reports an error inside a successful answer. */
interface ErrorPattern {
  /** The name that findings and summaries show. */
  readonly name: string;
  readonly severity: Severity;
  /** Description for people. */
  readonly meaning: string;
  /** Lower-case literals: a text without any of them cannot match, and is not searched. Absent: the name. */
  readonly literals?: readonly string[];
  readonly regex: RegExp;
}

/** The end of an `error` member of JSON, quoted any number of times, unless its value is empty, zero or a ratio. */
const withValue = String.raw`\\*["']?\s*:(?!\s*(?:null|none|no\b(?! *\w)|false|0\b|\d+\.\d|\d+ ?%|\\*""|\\*["']\\*["']|\[\s*\]|\{\s*\}))`;
/** Excludes the name of a setting, such as `timeout: 30`. */
const notASetting = String.raw`(?!\w{0,40}\\*["']?\s*[:=]\s*\d)`;
const harmlessNouns =
  '(?:errors?|issues?|problems?|warnings?|exceptions?|failures?|conflicts?|duplicates?|differences?|vulnerabilities)';

/** All patterns, most severe first. */
export const errorPatterns: readonly ErrorPattern[] = [
  {
    name: 'error:',
    severity: 'high',
    meaning: 'the text, or its member `error`, describes a failure',
    literals: ['error'],
    regex: new RegExp(`error${withValue}`, 'i'),
  },
  {
    name: 'exception',
    severity: 'high',
    meaning: 'a program threw an exception',
    regex: /(?<!\b(?:no|0|without|with the) )exceptions?\b(?!\\*["']?\s*[:=]\s*0)/i,
  },
  {
    name: 'failed to',
    severity: 'high',
    meaning: 'an attempt failed',
    regex: /\bfailed to\b/i,
  },
  {
    name: 'unauthorized',
    severity: 'high',
    meaning: 'the caller was not authenticated',
    literals: ['unauthori'],
    regex: /\bunauthori[sz]ed/i,
  },
  {
    name: 'forbidden',
    severity: 'high',
    meaning: 'the caller has no permission',
    regex: /\bforbidden/i,
  },
  {
    name: 'connection refused',
    severity: 'high',
    meaning: 'nothing listened at the address',
    literals: ['refused'],
    regex: /connection refused|\beconnrefused\b/i,
  },
  {
    name: 'network error',
    severity: 'high',
    meaning: 'the other host could not be reached',
    literals: ['network'],
    regex: /network ?error/i,
  },
  {
    name: 'not found',
    severity: 'medium',
    meaning: 'the requested item was not found',
    literals: ['found'],
    regex: /\bnot[ _-]?found\b|_not_found\b/i,
  },
  {
    name: 'does not exist',
    severity: 'medium',
    meaning: 'the requested item does not exist, or was deleted',
    literals: ['not exist'],
    regex: /\bdo(?:es)? not exist\b/i,
  },
  {
    name: 'cannot be found',
    severity: 'medium',
    meaning: 'the requested item was not found',
    literals: ['be found'],
    regex: /\b(?:cannot|can't|could not) be found\b/i,
  },
  {
    name: 'no … found',
    severity: 'medium',
    meaning: 'a search had no results',
    literals: ['found'],
    regex: new RegExp(String.raw`\bno (?!${harmlessNouns}\b).{0,80}?\bfound\b`, 'i'),
  },
  {
    name: 'timeout',
    severity: 'medium',
    meaning: 'no answer arrived in time',
    literals: ['timeout', 'time-out', 'timed out'],
    regex: new RegExp(`(?:time-?out|timed out)${notASetting}`, 'i'),
  },
  {
    name: 'rate limit',
    severity: 'medium',
    meaning: 'too many requests in too short a time',
    literals: ['limit'],
    regex: /\brate[ _-]?limit(?![\w-]{0,40}-(?:limit|remaining|reset))/i,
  },
  {
    name: 'invalid',
    severity: 'low',
    meaning: 'a value was not accepted',
    regex: /\binvalid(?!at)/i,
  },
  {
    name: 'missing',
    severity: 'low',
    meaning: 'a value is missing',
    regex: /\bmissing/i,
  },
  {
    name: 'null pointer',
    severity: 'low',
    meaning: 'a program used a null value',
    literals: ['pointer'],
    regex: /\bnull ?pointer/i,
  },
  {
    name: 'undefined',
    severity: 'low',
    meaning: 'the answer contains a value that was never set',
    regex: /\bundefined\b/i,
  },
];

/** An error reported in the text of a successful answer. */
export interface SemanticFinding {
  /** The pattern's name. */
  readonly pattern: string;
  readonly severity: Severity;
  /** The match with its surroundings, at most 200 characters, secrets redacted. */
  readonly snippet: string;
}

/** Max characters that are searched at the beginning of a text. */
const headLength = 49_152;
/** Max characters that are searched at the end of a text. */
const tailLength = 16_384;
/** Max characters that are searched of a text. */
export const scannedLength = headLength + tailLength;

/** Max characters of a snippet. */
const snippetLength = 200;
/** Max characters of a snippet before the match. */
const snippetLead = 40;
/** Characters on each side of a snippet in which secrets are searched, too. */
const margin = 400;

/**
 * Finds the most severe error in a text; of several, the first one. Takes up to 1 ms for ordinary texts and some ms for the
 * worst of 64 KiB, so call it only in threads that no call waits for.
 */
export function findSemanticError(text: string): SemanticFinding | undefined {
  return findInTexts([text])?.finding;
}

/** A finding in a span, with its place: a text of the outputs or of the tool messages. */
export interface SpanFinding extends SemanticFinding {
  readonly source: 'output' | 'input';
  /** Index of the text in the list. */
  readonly index: number;
}

/**
 * Finds the most severe error in a span's answers; of several, the first: outputs, then messages. System and user messages
 * are never searched.
 * @param messages tool results that no earlier span had
 */
export function findInSpan(outputs: readonly string[], messages: readonly string[]): SpanFinding | undefined {
  const { finding, index = 0 } = findInTexts([...outputs, ...messages]) ?? {};
  if (!finding) return undefined;
  if (index < outputs.length) return { ...finding, source: 'output', index };
  return { ...finding, source: 'input', index: index - outputs.length };
}

/** Finds the most severe error in several texts; of several, the first in order. */
function findInTexts(texts: readonly string[]): { index: number; finding: SemanticFinding } | undefined {
  const parts = texts.flatMap((text, index) =>
    partsOf(text).map((part) => ({ index, part, lowerCase: part.toLowerCase() })),
  );
  for (const severity of severities) {
    const patterns = errorPatterns.filter((pattern) => pattern.severity === severity);
    for (const { index, part, lowerCase } of parts) {
      const matches = patterns
        // Most texts contain none of the literals, and a search for them is cheap.
        .filter(({ name, literals = [name] }) => literals.some((literal) => lowerCase.includes(literal)))
        .map(({ name, regex }) => ({ name, at: part.search(regex) }))
        .filter(({ at }) => at >= 0);
      const [first] = matches.sort((one, other) => one.at - other.at);
      if (first)
        return { index, finding: { pattern: first.name, severity, snippet: snippetOf(part, first.at) } };
    }
  }
  return undefined;
}

/**
 * The index at which a pattern matches a text that is shown; -1 if it does not match.
 * @param name the pattern's name
 * @param which the match to find. `last` for messages, because the last ones were searched
 */
export function matchIndexOf(name: string | null, text: string, which: 'first' | 'last'): number {
  const regex = errorPatterns.find((pattern) => pattern.name === name)?.regex;
  if (!regex) return -1;
  const [start = '', end = ''] = partsOf(text);
  const all = new RegExp(regex, `${regex.flags}g`);
  const places = [
    ...[...start.matchAll(all)].map(({ index }) => index),
    ...[...end.matchAll(all)].map(({ index }) => text.length - end.length + index),
  ];
  return places.at(which === 'first' ? 0 : -1) ?? -1;
}

/** The parts of a text that are searched: all of it, or its beginning and end. */
function partsOf(text: string): readonly string[] {
  if (text.length <= scannedLength) return [text];
  return [text.slice(0, headLength), text.slice(-tailLength)];
}

function snippetOf(text: string, at: number): string {
  // Redacts more text than is shown, because a secret that was cut off would not be detected.
  const before = withoutSecrets(text.slice(Math.max(0, at - margin), at)).slice(-snippetLead);
  const after = withoutSecrets(text.slice(at, at + snippetLength + margin));
  return `${before}${after}`.replaceAll(/\s+/g, ' ').trim().slice(0, snippetLength);
}

/** Patterns of secrets, each with its replacement. */
const secrets: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi, '$1 [redacted]'],
  [/(:\/\/[^\s:/@"\\]*:)[^\s/@"\\]+@/g, '$1[redacted]@'],
  [
    /((?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|authorization|cookie|credential)\w*\\*["']?\s*[:=]\s*\\*["']?)(?!bearer|basic)[^\s"'\\,;&}]{4,}/gi,
    '$1[redacted]',
  ],
  [/\b(?:sk|pk|rk|xox[abprs]|gh[opsur]|glpat|AKIA|ASIA|eyJ)[-_]?[\w.-]{12,}/g, '[redacted]'],
  [/(?<![\w/+])(?=[\w+/=-]*\d)[\w+/=-]{40,}/g, '[redacted]'],
  [/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, '[redacted]'],
];

/** Redacts passwords, tokens, keys and e-mail addresses in a text of some hundred characters. */
export const withoutSecrets = (text: string): string =>
  secrets.reduce((redacted, [secret, replacement]) => redacted.replaceAll(secret, replacement), text);
