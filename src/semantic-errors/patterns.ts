export type Severity = 'high' | 'medium' | 'low';

/** Most severe first. */
export const severities: readonly Severity[] = ['high', 'medium', 'low'];

/** A wording that reports an error inside a successful answer. */
export interface ErrorPattern {
  /** The name that findings and summaries show. */
  readonly name: string;
  readonly severity: Severity;
  readonly meaning: string;
  /** Lower-case literals: a text without any of them cannot match, and is not searched. */
  readonly literals: readonly string[];
  readonly regex: RegExp;
}

/** The end of an `error` member of JSON, however often it is quoted; nothing, zero and shares are no errors. */
const saysSomething = String.raw`\\*["']?\s*:(?!\s*(?:null|none|no\b(?! *\w)|false|0\b|\d+\.\d|\d+ ?%|\\*""|\\*["']\\*["']|\[\s*\]|\{\s*\}))`;
/** A setting's name, not the event. */
const notASetting = String.raw`(?!\w{0,40}\\*["']?\s*[:=]\s*\d)`;
const nothingOf =
  '(?:errors?|issues?|problems?|warnings?|exceptions?|failures?|conflicts?|duplicates?|differences?|vulnerabilities)';

/** All wordings, most severe first. */
export const errorPatterns: readonly ErrorPattern[] = [
  {
    name: 'error:',
    severity: 'high',
    meaning: 'the text, or an `error` member of it, says what went wrong',
    literals: ['error'],
    regex: new RegExp(`error${saysSomething}`, 'i'),
  },
  {
    name: 'exception',
    severity: 'high',
    meaning: 'a program gave up and says where',
    literals: ['exception'],
    regex: /(?<!\b(?:no|0|without|with the) )exceptions?\b(?!\\*["']?\s*[:=]\s*0)/i,
  },
  {
    name: 'failed to',
    severity: 'high',
    meaning: 'something was tried and did not come about',
    literals: ['failed to'],
    regex: /\bfailed to\b/i,
  },
  {
    name: 'unauthorized',
    severity: 'high',
    meaning: 'the caller was not known',
    literals: ['unauthori'],
    regex: /\bunauthori[sz]ed/i,
  },
  {
    name: 'forbidden',
    severity: 'high',
    meaning: 'the caller was known and not let in',
    literals: ['forbidden'],
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
    meaning: 'the other side could not be reached',
    literals: ['network'],
    regex: /network ?error/i,
  },
  {
    name: 'not found',
    severity: 'medium',
    meaning: 'what was asked for is not there',
    literals: ['found'],
    regex: /\bnot[ _-]?found\b|_not_found\b/i,
  },
  {
    name: 'does not exist',
    severity: 'medium',
    meaning: 'what was asked for has never been there, or is gone',
    literals: ['not exist'],
    regex: /\bdo(?:es)? not exist\b/i,
  },
  {
    name: 'cannot be found',
    severity: 'medium',
    meaning: 'what was asked for is not there',
    literals: ['be found'],
    regex: /\b(?:cannot|can't|could not) be found\b/i,
  },
  {
    name: 'no … found',
    severity: 'medium',
    meaning: 'a search came back empty',
    literals: ['found'],
    regex: new RegExp(String.raw`\bno (?!${nothingOf}\b).{0,80}?\bfound\b`, 'i'),
  },
  {
    name: 'timeout',
    severity: 'medium',
    meaning: 'an answer did not come in time',
    literals: ['timeout', 'time-out', 'timed out'],
    regex: new RegExp(`(?:time-?out|timed out)${notASetting}`, 'i'),
  },
  {
    name: 'rate limit',
    severity: 'medium',
    meaning: 'too much was asked for in too short a time',
    literals: ['limit'],
    regex: /\brate[ _-]?limit(?![\w-]{0,40}-(?:limit|remaining|reset))/i,
  },
  {
    name: 'invalid',
    severity: 'low',
    meaning: 'a value was not accepted',
    literals: ['invalid'],
    regex: /\binvalid(?!at)/i,
  },
  {
    name: 'missing',
    severity: 'low',
    meaning: 'a value was not given',
    literals: ['missing'],
    regex: /\bmissing/i,
  },
  {
    name: 'null pointer',
    severity: 'low',
    meaning: 'a program used a value that was not there',
    literals: ['pointer'],
    regex: /\bnull ?pointer/i,
  },
  {
    name: 'undefined',
    severity: 'low',
    meaning: 'a value that was never set got into the answer',
    literals: ['undefined'],
    regex: /\bundefined\b/i,
  },
];
