import { errorPatterns, severities, type Severity } from './patterns.js';

/** An error reported in the text of a successful answer. */
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

/** The same for several texts: severity decides over all of them, then their order. */
function findInTexts(texts: readonly string[]): { index: number; finding: SemanticFinding } | undefined {
  const parts = texts.flatMap((text, index) =>
    partsOf(text).map((part) => ({ index, part, small: part.toLowerCase() })),
  );
  for (const severity of severities) {
    const patterns = errorPatterns.filter((pattern) => pattern.severity === severity);
    for (const { index, part, small } of parts) {
      const matches = patterns
        // Nearly every text holds none of the literals, and looking for them is what is cheap.
        .filter(({ literals }) => literals.some((literal) => small.includes(literal)))
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

function snippetOf(text: string, at: number): string {
  // Secrets are taken out of more than is shown: cut ones are not known for what they are.
  const before = withoutSecrets(text.slice(Math.max(0, at - margin), at)).slice(-snippetLead);
  const after = withoutSecrets(text.slice(at, at + snippetLength + margin));
  return `${before}${after}`.replaceAll(/\s+/g, ' ').trim().slice(0, snippetLength);
}

export interface SpanFinding extends SemanticFinding {
  readonly source: 'output' | 'input';
  /** The place of its text in the list. */
  readonly index: number;
}

/**
 * The most severe error that a span's answers tell of; of several, the first: outputs, then messages. What a system or a
 * user said is never searched.
 * @param toolMessages those of the role tool that no earlier span had
 */
export function findInSpan(
  outputs: readonly string[],
  toolMessages: readonly string[],
): SpanFinding | undefined {
  const { finding, index = 0 } = findInTexts([...outputs, ...toolMessages]) ?? {};
  if (!finding) return undefined;
  const isOutput = index < outputs.length;
  return {
    ...finding,
    source: isOutput ? 'output' : 'input',
    index: isOutput ? index : index - outputs.length,
  };
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
