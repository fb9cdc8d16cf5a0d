import type { ToolNotice } from '../../base/common/tool-notice.js';
import { quotedChars } from '../process-pool/failure-messages.js';
import { maxNoticeChars } from '../process-pool/own-dialect.js';
import type { PoolEvent } from '../process-pool/pool.types.js';
import type { PlainEnv } from './env-cipher.js';

/** Min length of values that are redacted anywhere. Shorter ones occur by chance, and are redacted in headers and URLs only. */
const minLength = 4;
/** Text before a value in a header or a query, such as `?key=` or `Authorization: Bearer `. */
const inHeaderOrQuery =
  '[?&][^=&#\\s]{1,64}=|\\b[Bb](?:earer|asic) |(?:[Aa]uth|[Cc]ookie|[Tt]oken|[Ss]ecret|[Kk]ey|KEY|TOKEN|SECRET)[\\w-]{0,32}["\']?[:=] ?["\']?';
/** Min length of a line of a multi-line value, such as a PEM key, that is redacted by itself. */
const minLineLength = 8;
/** Max length of a piece in the regular expression, whose size is limited. Longer values are searched for in pieces. */
const maxPieceLength = 4_096;

/**
 * Redacts the values of a tool's environment in texts: `[secret NAME]` takes their place. For failures and log lines, not
 * for the hot path.
 */
export class Redactor {
  /** The replacement of each form of a value. */
  private readonly marks: ReadonlyMap<string, string>;
  /** Matches all forms; undefined without secrets. */
  private readonly pattern: RegExp | undefined;

  constructor(env: PlainEnv) {
    const forms = Object.entries(env).flatMap(([name, value]) =>
      formsOf(value).map((form) => [form, `[secret ${name}]`] as const),
    );
    // Longest first, because a value may contain another one.
    this.marks = new Map(forms.sort(([a], [b]) => b.length - a.length));
    const pattern = [...this.marks.keys()]
      .map((form) => {
        const literal = form.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
        return form.length < minLength ? `${literal}(?<=(?:${inHeaderOrQuery})${literal})(?!\\w)` : literal;
      })
      .join('|');
    this.pattern = pattern === '' ? undefined : new RegExp(pattern, 'g');
  }

  /** Redacts a text. @param cut the ends at which the text was cut off, which may split a value */
  clean(text: string, cut: { readonly start?: boolean; readonly end?: boolean } = {}): string {
    if (!this.pattern) return text;
    let clean = text.replace(this.pattern, (form) => this.marks.get(form) as string);
    if (cut.start) clean = this.withoutTailOfSecret(clean);
    return cut.end ? this.withoutHeadOfSecret(clean) : clean;
  }

  /**
   * Redacts all texts in a JSON value.
   * @param names false keeps member names, for objects of the protocol and for schemas, which redacted names would break
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

  /** Redacts the end of a secret whose beginning was cut off at the start of the text. */
  private withoutTailOfSecret(text: string): string {
    for (const [form, mark] of this.marks) {
      for (let length = Math.min(form.length - 1, text.length); length >= minLength; length--)
        if (text.startsWith(form.slice(-length))) return `${mark}${text.slice(length)}`;
    }
    return text;
  }

  /** Redacts the beginning of a secret whose end was cut off at the end of the text. */
  private withoutHeadOfSecret(text: string): string {
    for (const [form, mark] of this.marks) {
      for (let length = Math.min(form.length - 1, text.length); length >= minLength; length--)
        if (text.endsWith(form.slice(0, length))) return `${text.slice(0, -length)}${mark}`;
    }
    return text;
  }
}

/** A notice of a tool without secrets. */
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

/** A value in all forms in which it may occur: itself, in JSON, in URLs, and its lines; long ones in pieces. */
function formsOf(value: string): string[] {
  const lines = value.split(/\r?\n/);
  const forms = [
    value,
    value.trim(),
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    ...(lines.length > 1 ? lines.filter((line) => line.length >= minLineLength) : []),
  ];
  return [...new Set(forms.flatMap(piecesOf))].filter((form) => form !== '');
}

/** Splits a long form. The last piece includes the rest, because a short piece would occur in other texts by chance. */
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
