import { isObject, type JsonObject } from '../common/json.js';
import type { SemanticFinding } from './find-semantic-error.js';

/** Max length of an answer that only reports an error; a longer text is content. */
const maxStatementLength = 4_096;
/** Objects with more keys than this are treated as data, not as an error report. */
const maxMembers = 6;

/** Expression for the name of an error class, such as `java.io.IOException`. */
const errorName = String.raw`(?:[A-Za-z_][\w.]{0,80}\.)?[A-Z]\w{0,60}(?:Error|Exception)`;
/** Beginnings of texts that only report a failure. */
const openings: readonly RegExp[] = [
  // "Error: …", "error response from daemon: …", "[ERROR] Failed …", "TypeError: …", "psql: error: …"
  new RegExp(
    String.raw`^(?:[\w./-]{1,40}: )?\[?(?:error|fatal)\]?(?: [\w ]{1,60})?(?: \([\w ]{1,40}\))?: ?\S`,
    'i',
  ),
  /^\[error\] \S/i,
  new RegExp(`^${errorName}: `),
  new RegExp(
    String.raw`^(?:exception in thread|unhandled exception:|an? (?:\w+ ){0,2}(?:exception|error) (?:was thrown|occurred))`,
    'i',
  ),
  /^traceback \(most recent call last\)/i,
  /^(?:[\w./-]{1,40}: )?(?:\([\w ]{1,10}\) )?(?:F|f)ailed to [a-z]/,
  /^(?:fetch|request|query|login|authentication|authorization|access|connection)\b[\w ]{0,20}\b(?:failed|denied|forbidden|refused)\b/i,
  /^(?:http )?(?:error )?40[13]:? (?:unauthorized|forbidden)\b/i,
  /^(?:unauthorized|forbidden)\W*$/i,
  /^(?:unauthorized|forbidden): /i,
  /^(?:the )?(?:operation|request|call|upload|download|query) failed\b/i,
  /^network error(?:$|[:.!,])/i,
  /^[\w./-]{1,40}: [\w ]{1,40}(?:: )?connection refused/i,
  /^connection refused(?:$|[:.,(]| by | at )/i,
  /^(?:i'?m sorry|sorry|i am sorry)\b/i,
  /^unable to \w/i,
  /^(?:tool|command|function) (?:execution|call)?[\w ]{0,20}failed/i,
];

/** Signs that a failure was overcome, or that the text is about errors. */
const notAFailure =
  /\b(?:succe(?:ss|ed)\w*|recovered|retr(?:y|ied|ying)(?! later)|reconnected|refreshed|resolved|fixed|instead|falling back|fell back|skipped|ignored|means?|usually|how to|for example)\b/i;
/** Time stamps at the beginning of lines: several are the sign of a log. */
const timeStamp = /^\W?(?:[A-Z]{4,5}\s+)?\[?(?:\d{4}-\d\d-\d\d|\d\d:\d\d)/gm;
/** Signs of source code, which a report of a failure does not have. */
const sourceCode = /\b(?:throw new|catch ?\(|return |const |def |class |import |raise |function )|=>|\{\s*$/m;

/** Values of `status` that mean success, and those that mean failure. */
const goodWords = new Set(['ok', 'success', 'succeeded', 'healthy', 'done', 'resolved', 'completed']);
const badWords = new Set(['error', 'failed', 'failure', 'fail']);

/**
 * Whether an answer is itself the report of a failure, not a text about failures such as a log, a page, search results or
 * source code. The check is strict, so that executions are not marked by mistake.
 */
export function isSelfReported(text: string, { severity }: Pick<SemanticFinding, 'severity'>): boolean {
  if (severity !== 'high' || text.length > maxStatementLength) return false;
  // A result is recorded as JSON, in which a text may be JSON again.
  const value = parsed(parsed(text));
  if (isObject(value)) return isFailureObject(value);
  return !Array.isArray(value) && isReport(String(value));
}

/** The JSON in a text; any other value stays as it is. */
function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Whether a text begins like a report of a failure, and is not about errors. */
function isReport(text: string): boolean {
  // Without a symbol at the beginning, such as a cross.
  const bare = text.trim().replace(/^[^\p{L}\p{N}[]{1,4}/u, '');
  if (notAFailure.test(bare) || sourceCode.test(bare)) return false;
  if ((bare.match(timeStamp) ?? []).length > 1) return false;
  return openings.some((opening) => opening.test(bare));
}

/** Whether an object is itself the report of a failure. */
function isFailureObject(members: JsonObject): boolean {
  if (claimsSuccess(members)) return false;
  const texts = messageMembers.flatMap((name) => textsOf(members[name]));
  if (claimsFailure(members)) return texts.every((text) => !notAFailure.test(text));
  return Object.keys(members).length <= maxMembers && texts.some(isReport) && !hasContent(members);
}

/** Whether an answer's own members call it a success. */
const claimsSuccess = ({ success, ok, status }: JsonObject): boolean =>
  success === true || ok === true || (typeof status === 'string' && goodWords.has(status.toLowerCase()));

/** Whether an answer's own members call it a failure. */
function claimsFailure(members: JsonObject): boolean {
  const { success, succeeded, ok, isError, status, error, errors } = members;
  if ([success, succeeded, ok].includes(false) || isError === true || error === true) return true;
  if (typeof status === 'string' && badWords.has(status.toLowerCase())) return true;
  const hasError = isErrorValue(error) || (Array.isArray(errors) && errors.length > 0);
  return hasError && !hasContent(members);
}

/** Whether a member `error` describes an error: text that is not blank, or an object. */
const isErrorValue = (error: unknown): boolean =>
  typeof error === 'string' ? error.trim() !== '' : isObject(error);

/** Members that hold the message of an answer. */
const messageMembers =
  'error errors errorMessage message detail reason stderr output answer text content'.split(' ');

/** The texts in a member: its own, or those of its first three items or of its `message` and `text`. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.slice(0, 3).flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [];
  const { message, text } = value as { message?: unknown; text?: unknown };
  return [message, text].filter((each) => typeof each === 'string');
}

/** Whether an answer has content besides its message: an object or list that is not empty. */
function hasContent(members: JsonObject): boolean {
  return Object.entries(members).some(([name, value]) => {
    const isFilled = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
    return isFilled && !messageMembers.includes(name);
  });
}
