import { isObject } from '../../../base/common/json.js';
import type { LogLevel } from './tool-logs.js';

/** Words for levels in the output of loggers and runtimes. The single letters are those of klog. */
const words: Readonly<Record<LogLevel, string>> = {
  debug: 'trace|debug|verbose',
  info: 'info|information|notice|i',
  warn: 'warn|warning|w',
  error: 'err|error|critical|crit|severe|fatal|panic|panicked|alert|emerg|exception|traceback|e|f',
};
const levelByWord = new Map(
  (Object.keys(words) as LogLevel[]).flatMap((level) => words[level].split('|').map((each) => [each, level])),
);
/** Alternatives of a regular expression: all words except the single letters. */
const anyWord = [...levelByWord.keys()].filter(({ length }) => length > 1).join('|');
const anyWordInCapitals = anyWord.toUpperCase();
/** A date and time, or a part of them. */
const timestamp = String.raw`[[(]?\d{2,4}[-/:.]\d{2}[\d\-/:.,TZ+ \])|]*`;
/** Ways to write a level. Most are anchored, so that "no errors found" and "ERROR_COUNT=0" name no level. */
const patterns: readonly RegExp[] = [
  // `[error] x`, `<warn> x`, `Error: x`, `npm ERR! x`
  new RegExp(String.raw`^(?:npm )?[[(<]?(${anyWord})(?:[\])>]|[:!](?:\s|$|\w))`, 'i'),
  // `ERROR x`, `npm WARN x`
  new RegExp(String.raw`^(?:npm )?(${anyWordInCapitals})(?:\s|$)`),
  // `2026-01-02 10:11:12 - app.db - ERROR - x`, `10:11:12 [main] WARN x`
  new RegExp(
    String.raw`^${timestamp}(?:\[[^\]]{0,60}\] |[\w.]{1,60} - ){0,2}\[?(${anyWordInCapitals})(?:[\s:\]]|$)`,
  ),
  // `[2026-01-02 10:11:12] error: x`
  new RegExp(String.raw`^${timestamp}[[]?(${anyWord})[\]:]`, 'i'),
  // `ts=1 level=warn msg=x`
  new RegExp(String.raw`(?:^|\s)(?:level|lvl|severity)=["']?(${anyWord})\b`, 'i'),
  // klog, runtimes of Python and Java, Rust, Node and Python
  /^([IWEF])\d{4} \d{2}:\d{2}:\d{2}/,
  /^(?:Uncaught |Exception in thread "[^"]*" )?[\w.]*(Error|Exception|Traceback)(?::|$| \(most recent)/,
  /^thread '[^']*' (panicked) at /,
  /^(?:\(\w+:\d+\)|\S{1,200}:\d+:) (?:\[\w+\] )?\w*(Warning): /,
];
// eslint-disable-next-line no-control-regex -- colours of a terminal
const colours = /\u001b\[[\d;]*m/g;

/** The level that a line of a log names in words or as a member of JSON, if any. */
export function levelIn(line: string): LogLevel | undefined {
  const text = line.replace(colours, '').trim();
  if (text.startsWith('{')) return levelOfJson(text);
  // A level is near the beginning of a line.
  const head = text.slice(0, 300);
  const name = patterns.map((pattern) => pattern.exec(head)?.[1]).find((each) => each !== undefined);
  return name === undefined ? undefined : levelByWord.get(name.toLowerCase());
}

/** The level in a JSON entry. Numbers are those of pino and bunyan. */
function levelOfJson(text: string): LogLevel | undefined {
  try {
    const entry: unknown = JSON.parse(text);
    if (!isObject(entry)) return undefined;
    const level =
      entry['level'] ?? entry['severity'] ?? entry['lvl'] ?? entry['levelname'] ?? entry['log.level'];
    if (typeof level !== 'number') return levelByWord.get(String(level).toLowerCase());
    if (level >= 50) return 'error';
    if (level >= 40) return 'warn';
    return level >= 30 ? 'info' : 'debug';
  } catch {
    return undefined;
  }
}
