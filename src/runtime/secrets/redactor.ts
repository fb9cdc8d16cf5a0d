import type { ToolNotice } from '../../base/common/tool-notice.js';
import { quotedChars } from '../process-pool/failure-messages.js';
import { maxNoticeChars } from '../process-pool/own-dialect.js';
import type { PoolEvent } from '../process-pool/pool.types.js';
import type { PlainEnv } from './env-cipher.js';

/** Shorter values stand in half of all texts by chance: they are hidden in headers and in the queries of URLs alone. */
const shortest = 4;
const inHeaderOrQuery =
  '[?&][^=&#\\s]{1,64}=|\\b[Bb](?:earer|asic) |(?:[Aa]uth|[Cc]ookie|[Tt]oken|[Ss]ecret|[Kk]ey|KEY|TOKEN|SECRET)[\\w-]{0,32}["\']?[:=] ?["\']?';
/** A line of a value that spans lines, such as a PEM key, shows up by itself; lines like `}` are no secret. */
const shortestLine = 8;
/** A longer value is looked for in pieces: what a regular expression may hold has an end. */
const maxPieceLength = 4_096;

/** Takes the values of a tool's environment out of texts. For failures and log lines, not for the hot path. */
export class Redactor {
  private readonly marks: ReadonlyMap<string, string>;
  private readonly pattern: RegExp | undefined;

  constructor(env: PlainEnv) {
    const forms = Object.entries(env).flatMap(([name, value]) =>
      formsOf(value).map((form) => [form, `[secret ${name}]`] as const),
    );
    // The longest first: a value may hold another one.
    this.marks = new Map(forms.sort(([a], [b]) => b.length - a.length));
    const pattern = [...this.marks.keys()]
      .map((form) => {
        const literal = form.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
        return form.length < shortest ? `${literal}(?<=(?:${inHeaderOrQuery})${literal})(?!\\w)` : literal;
      })
      .join('|');
    this.pattern = pattern === '' ? undefined : new RegExp(pattern, 'g');
  }

  /** @param cut where the text was cut off, so that a part of a value may stand there */
  clean(text: string, cut: { readonly start?: boolean; readonly end?: boolean } = {}): string {
    if (!this.pattern) return text;
    let clean = text.replace(this.pattern, (form) => this.marks.get(form) as string);
    if (cut.start) clean = this.withoutTailOfSecret(clean);
    return cut.end ? this.withoutHeadOfSecret(clean) : clean;
  }

  /**
   * The same for every text in a JSON value, the names of members included.
   * @param names false: of an object whose members the protocol names, or callers do (a schema): a value that happens to
   * be such a name must not break it
   */
  cleanJson(value: unknown, { names = true } = {}): unknown {
    if (!this.pattern) return value;
    if (typeof value === 'string') return this.clean(value);
    if (Array.isArray(value)) return value.map((item) => this.cleanJson(item, { names }));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        names ? this.clean(name) : name,
        this.cleanJson(item, { names }),
      ]),
    );
  }

  private withoutTailOfSecret(text: string): string {
    for (const [form, mark] of this.marks) {
      for (let length = Math.min(form.length - 1, text.length); length >= shortest; length--) {
        if (text.startsWith(form.slice(-length))) return `${mark}${text.slice(length)}`;
      }
    }
    return text;
  }

  private withoutHeadOfSecret(text: string): string {
    for (const [form, mark] of this.marks) {
      for (let length = Math.min(form.length - 1, text.length); length >= shortest; length--) {
        if (text.endsWith(form.slice(0, length))) return `${text.slice(0, -length)}${mark}`;
      }
    }
    return text;
  }
}

/** Removes the values of a tool's environment from its output. */
export function cleanNotice<N extends ToolNotice>(notice: N, redactor: Redactor): N {
  const { message } = notice;
  return {
    ...notice,
    ...(message !== undefined && {
      // The pool shortens messages without marking them.
      message: redactor.clean(message, { end: message.length >= maxNoticeChars }),
    }),
    ...('data' in notice && { data: redactor.cleanJson(notice.data) }),
  };
}

/** The value itself, as it stands inside JSON and URLs, and its lines; in pieces where they are long. */
function formsOf(value: string): string[] {
  const lines = value.split(/\r?\n/);
  const forms = [
    value,
    value.trim(),
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    ...(lines.length > 1 ? lines.filter((line) => line.length >= shortestLine) : []),
  ];
  return [...new Set(forms.flatMap(piecesOf))].filter((form) => form !== '');
}

/** The last one takes what is left over: a short piece would stand in other texts by chance. */
function piecesOf(form: string): string[] {
  const count = Math.max(1, Math.floor(form.length / maxPieceLength));
  const cuts = Array.from({ length: count }, (_, n) => n * maxPieceLength);
  return cuts.map((start, n) => form.slice(start, cuts[n + 1]));
}

/** An event of a pool without secrets. */
export function cleanEvent<E extends PoolEvent>(event: E, redactor: Redactor): E {
  switch (event.type) {
    case 'start_failed':
    case 'failed':
      return { ...event, error: redactor.clean(event.error, { end: event.error.length >= quotedChars }) };
    case 'terminate':
      return {
        ...event,
        stderrTail: redactor.clean(event.stderrTail, { start: true }),
        ...(event.why !== undefined && { why: redactor.clean(event.why) }),
      };
    default:
      return event;
  }
}
