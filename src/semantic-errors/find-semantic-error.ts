import { type ErrorPattern, errorPatterns, severities, type Severity } from './patterns.js';

/** An error that a text tells of although it passed for a good answer. */
export interface SemanticFinding {
  /** The pattern's name. */
  readonly pattern: string;
  readonly severity: Severity;
  /** The match and what stands around it, at most 200 characters, secrets taken out. */
  readonly snippet: string;
}

/** Characters of a text that are read: its beginning and its end. */
const headLength = 49_152;
const tailLength = 16_384;
export const scannedLength = headLength + tailLength;

const snippetLength = 200;
const snippetLead = 40;
const margin = 400;

/**
 * Looks for the most severe error that a text tells of; of several, the first one. 1 ms or less for ordinary texts and some ms
 * for the worst of 64 KiB: for threads that no call waits for.
 */
export function findSemanticError(text: string): SemanticFinding | undefined {
  return findInTexts([text])?.finding;
}

export interface FoundInText {
  /** Of the list. */
  readonly index: number;
  readonly finding: SemanticFinding;
}

/** The same for several texts: severity decides over all of them, then their order. */
export function findInTexts(texts: readonly string[]): FoundInText | undefined {
  const parts = texts.flatMap((text, index) =>
    partsOf(text).map((part) => ({ index, part, ...present(part) })),
  );
  for (const severity of severities) {
    for (const { index, part, patterns } of parts) {
      const first = firstMatch(
        part,
        patterns.filter((pattern) => pattern.severity === severity),
      );
      if (first) return { index, finding: { ...first, severity } };
    }
  }
  return undefined;
}

/**
 * The place of the wording of a finding in the text as it is shown; -1: it is not there.
 * @param name of the pattern
 * @param which of the matches: messages that were searched stand at the end of all messages
 */
export function placeOf(name: string | null, text: string, which: 'first' | 'last'): number {
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

function partsOf(text: string): readonly string[] {
  if (text.length <= scannedLength) return [text];
  return [text.slice(0, headLength), text.slice(-tailLength)];
}

/** Nearly every text holds none of the literals, and looking for them is what is cheap. */
function present(part: string): { readonly patterns: readonly ErrorPattern[] } {
  const small = part.toLowerCase();
  return {
    patterns: errorPatterns.filter(({ literals }) => literals.some((literal) => small.includes(literal))),
  };
}

function firstMatch(
  text: string,
  patterns: readonly ErrorPattern[],
): Pick<SemanticFinding, 'pattern' | 'snippet'> | undefined {
  const matches = patterns.flatMap(({ name, regex }) => {
    const match = regex.exec(text);
    return match ? [{ pattern: name, at: match.index, length: match[0].length }] : [];
  });
  const [first] = matches.sort((a, b) => a.at - b.at);
  return first && { pattern: first.pattern, snippet: snippetOf(text, first.at) };
}

function snippetOf(text: string, at: number): string {
  // Secrets are taken out of more than is shown: cut ones are not known for what they are.
  const before = withoutSecrets(text.slice(Math.max(0, at - margin), at)).slice(-snippetLead);
  const after = withoutSecrets(text.slice(at, at + snippetLength + margin));
  return `${before}${after}`.replaceAll(/\s+/g, ' ').trim().slice(0, snippetLength);
}

/** The texts of a span that answered something; never what a system or a user said. */
export interface SpanAnswers {
  readonly outputs: readonly string[];
  /** Of messages of the role tool that no earlier span had. */
  readonly toolMessages: readonly string[];
}

export interface SpanFinding extends SemanticFinding {
  readonly source: 'output' | 'input';
  /** The place of its text in the list. */
  readonly index: number;
}

/** The most severe error that a span's answers tell of; of several, the first: outputs, then messages. */
export function findInSpan({ outputs, toolMessages }: SpanAnswers): SpanFinding | undefined {
  const found = findInTexts([...outputs, ...toolMessages]);
  if (!found) return undefined;
  const { finding, index } = found;
  return index < outputs.length
    ? { ...finding, source: 'output', index }
    : { ...finding, source: 'input', index: index - outputs.length };
}

/** The shapes of what must not be shown, and what is kept of each. */
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

/** A text of some hundred characters without what looks like a password, a token, a key or an e-mail address. */
export const withoutSecrets = (text: string): string =>
  secrets.reduce((clean, [secret, instead]) => clean.replaceAll(secret, instead), text);
