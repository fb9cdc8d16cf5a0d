import { RE2JS } from 're2js';

/*
 * JSON Schema uses the patterns of ECMA-262, which may take exponential time. This translates them to the syntax of RE2,
 * which runs in linear time. Look-around and back references cannot be translated.
 */

/** Max repeats in RE2; those of nested groups are multiplied. */
const maxRepeats = 1_000;
/** Max atoms of a pattern, counted as often as they are repeated. */
const maxAtoms = 5_000;
/** The complement of `\s`. */
const noSpace =
  '\\x00-\\x08\\x0e-\\x1f\\x21-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}' +
  '\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}';
/** Characters: one code point, or the inside of a class. */
type Chars = number | string;

/** Meaning of a letter behind a backslash. */
// prettier-ignore
const escapes: Readonly<Record<string, Chars>> = {
  d: '\\d', D: '\\D', w: '\\w', W: '\\W', s: '\\t-\\r\\p{Z}\\x{feff}', S: noSpace,
  t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0,
};
const backspace = 8;
/** Short names of Unicode categories: RE2 does not know the long ones. */
// prettier-ignore
const shortNames: Readonly<Record<string, string>> = {
  Letter: 'L', Uppercase_Letter: 'Lu', Lowercase_Letter: 'Ll', Mark: 'M', Number: 'N',
  Decimal_Number: 'Nd', Punctuation: 'P', Symbol: 'S', Separator: 'Z', Space_Separator: 'Zs',
};

/** A part of a pattern in RE2's syntax. */
interface Part {
  readonly text: string;
  /** Number of atoms, counted as often as they are repeated. */
  readonly atoms: number;
  /** Product of the repeats in the part. */
  readonly repeats: number;
}

/** Compiles a pattern for RE2. @throws Error that names the part that RE2 cannot express */
export function linearPattern(source: string): RE2JS {
  return RE2JS.compile(new PatternReader(source).read());
}

class PatternReader {
  private at = 0;

  constructor(private readonly source: string) {}

  read(): string {
    const { text } = this.sequence();
    if (this.at < this.source.length) throw new Error('it has an unmatched )');
    return text;
  }

  /** Reads the next token if it matches. @param token a sticky expression (`y`) */
  private take(token: RegExp): RegExpExecArray | undefined {
    token.lastIndex = this.at;
    const found = token.exec(this.source) ?? undefined;
    if (found) this.at = token.lastIndex;
    return found;
  }

  /** The parts up to the end of the group. `|` is one of them, because RE2 reads it in the same way. */
  private sequence(): Part {
    let text = '';
    let atoms = 0;
    let repeats = 1;
    while (this.at < this.source.length && this.source[this.at] !== ')') {
      const part = this.repeated(this.atom());
      text += part.text;
      atoms += part.atoms;
      repeats = Math.max(repeats, part.repeats);
      if (atoms > maxAtoms) throw new Error(`it repeats more than ${maxAtoms} characters`);
    }
    return { text, atoms, repeats };
  }

  /** Reads one atom: a character, a class or a group, or an assertion without width. */
  private atom(): Part {
    const zeroWidth = this.take(/[|^]|\$|\\[bBAz]|\(\?[a-z]+\)/uy);
    if (zeroWidth) return { text: zeroWidth[0], atoms: 0, repeats: 1 };
    if (this.take(/\(\?<?[=!]/uy)) throw new Error('it has look-around');
    const group = this.take(/\((\?:|\?P?<[^>]*>|\?[a-z]*(?:-[a-z]+)?:)?/uy);
    // A group with flags keeps them; any other group only groups.
    if (group) return this.group(/^\?[^:P<]/.test(group[1] ?? '') ? group[0] : '(?:');
    if (this.take(/[*+?]|\{\d+(?:,\d*)?\}/uy)) throw new Error('it repeats nothing');
    if (this.take(/\./uy)) return leaf('[^\\n\\r\\x{2028}\\x{2029}]');
    const opened = this.take(/\[\^?/uy);
    const text = opened
      ? classOf(opened[0], this.classMembers())
      : `[${inside(this.chars({ isInClass: false }))}]`;
    return leaf(text);
  }

  private group(opening: string): Part {
    const inner = this.sequence();
    if (!this.take(/\)/uy)) throw new Error('it lacks a )');
    return { ...inner, text: `${opening}${inner.text})` };
  }

  /** Applies the quantifier that follows a part, if there is one. */
  private repeated(part: Part): Part {
    const found = this.take(/(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/uy);
    if (!found) return part;
    const [, sign, least, comma, most = least] = found;
    if (sign) return { ...part, text: part.text + sign };
    return repeat(part, Number(least), comma && !most ? Infinity : Number(most));
  }

  /** Reads the members of a class up to its `]`. */
  private classMembers(): string {
    let text = '';
    while (!this.take(/\]/uy)) {
      if (this.at >= this.source.length) throw new Error('it lacks a ]');
      const from = this.chars({ isInClass: true });
      const start = this.at;
      const to = this.take(/-(?!\])/uy) && this.chars({ isInClass: true });
      const isRange = typeof from === 'number' && typeof to === 'number';
      if (isRange && to < from) throw new Error('it has a range whose end precedes its start');
      // Next to a class of characters, a hyphen is literal.
      if (to !== undefined && !isRange) this.at = start;
      text += isRange ? `${literal(from)}-${literal(to)}` : inside(from);
    }
    return text;
  }

  /** The next character or escape. */
  private chars({ isInClass }: { readonly isInClass: boolean }): Chars {
    const found = this.take(
      /\\(?:u\{(?<long>[\da-fA-F]{1,6})\}|u(?<unit>[\da-fA-F]{4})|x(?<byte>[\da-fA-F]{2})|c(?<control>[a-zA-Z])|(?<property>[pP])(?:\{(?<name>[\w=]+)\}|(?<short>[A-Z]))|(?<sign>[^]))|[^\\]/uy,
    );
    if (!found) throw new Error('it ends with a backslash');
    const { long, unit, byte, control, property, name, short, sign } = found.groups ?? {};
    if (unit) return this.codeUnit(parseInt(unit, 16));
    if (long ?? byte) return parseInt(long ?? byte ?? '', 16);
    if (control) return control.charCodeAt(0) % 32;
    if (property) return propertyOf(property, name ?? short ?? '');
    if (sign === undefined) return found[0].codePointAt(0) ?? 0;
    if (sign === 'b' && isInClass) return backspace;
    if (/[1-9k]/.test(sign) || (sign === '0' && this.take(/\d/uy)))
      throw new Error('it has a back reference');
    const escaped = escapes[sign];
    if (escaped !== undefined) return escaped;
    if (/[a-zA-Z]/.test(sign)) throw new Error(`ECMA-262 has no escape \\${sign}`);
    return sign.codePointAt(0) ?? 0;
  }

  /** The whole character of a surrogate pair, if the second half follows. */
  private codeUnit(unit: number): number {
    const low = unit >>> 10 === 0x36 ? this.take(/\\u([dD][c-fC-F][\da-fA-F]{2})/uy) : undefined;
    return low?.[1] ? (unit - 0xd800) * 1_024 + parseInt(low[1], 16) - 0xdc00 + 0x10000 : unit;
  }
}

/** A part of one character. */
const leaf = (text: string): Part => ({ text, atoms: 1, repeats: 1 });

const literal = (code: number): string => `\\x{${code.toString(16)}}`;
/** Characters as a class contains them. */
const inside = (chars: Chars): string => (typeof chars === 'number' ? literal(chars) : chars);

/** A class of characters. `[]` matches nothing, `[^]` matches all characters. */
const classOf = (opening: string, chars: string): string =>
  chars === '' ? `${opening === '[' ? '[^' : '['}\\x{0}-\\x{10ffff}]` : `${opening}${chars}]`;

/** Repeats a part. If the count is over RE2's limit, the part is written several times. */
function repeat(part: Part, min: number, max: number): Part {
  /** Repeats for which RE2 builds its program: an open end adds one at most. */
  const most = max === Infinity ? Math.max(min, 1) : max;
  if (max < min) throw new Error('the maximum of a repeat is below its minimum');
  const atoms = part.atoms * most;
  const repeats = part.repeats * most;
  if (atoms > maxAtoms || most > maxAtoms) throw new Error(`it repeats more than ${maxAtoms} characters`);
  if (repeats <= maxRepeats) {
    const text = `${part.text}{${min},${max === Infinity ? '' : max}}`;
    return { text, atoms, repeats: Math.max(repeats, 1) };
  }
  /** Repeats that one quantifier may have. */
  const chunk = Math.floor(maxRepeats / part.repeats);
  /** The part with quantifiers that add up to `count`, each within RE2's limit. */
  const quantified = (count: number, quantifier: (repeats: number) => string): string => {
    const rest = count % chunk;
    const chunks = `${part.text}${quantifier(chunk)}`.repeat(count / chunk);
    return rest === 0 ? chunks : `${chunks}${part.text}${quantifier(rest)}`;
  };
  const exactly = (count: number): string => quantified(count, (repeats) => `{${repeats}}`);
  const upTo = (count: number): string => quantified(count, (repeats) => `{0,${repeats}}`);
  const optional = max === Infinity ? `${part.text}*` : upTo(max - min);
  return { text: `(?:${exactly(min)}${optional})`, atoms, repeats: maxRepeats };
}

/** A Unicode property as RE2 names it. @param sign `p` or `P` */
function propertyOf(sign: string, given: string): string {
  const name = given.replace(/^(Script|sc|General_Category|gc)=/, '');
  return `\\${sign}{${shortNames[name] ?? name}}`;
}
