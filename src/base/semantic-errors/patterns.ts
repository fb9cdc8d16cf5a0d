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
    meaning: 'the text, or its member `error`, describes a failure',
    literals: ['error'],
    regex: new RegExp(`error${saysSomething}`, 'i'),
  },
  {
    name: 'exception',
    severity: 'high',
    meaning: 'a program threw an exception',
    literals: ['exception'],
    regex: /(?<!\b(?:no|0|without|with the) )exceptions?\b(?!\\*["']?\s*[:=]\s*0)/i,
  },
  {
    name: 'failed to',
    severity: 'high',
    meaning: 'an attempt failed',
    literals: ['failed to'],
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
    regex: new RegExp(String.raw`\bno (?!${nothingOf}\b).{0,80}?\bfound\b`, 'i'),
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
    literals: ['invalid'],
    regex: /\binvalid(?!at)/i,
  },
  {
    name: 'missing',
    severity: 'low',
    meaning: 'a value is missing',
    literals: ['missing'],
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
    literals: ['undefined'],
    regex: /\bundefined\b/i,
  },
];
