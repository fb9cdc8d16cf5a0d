type Value = string | number | boolean | null;

/** Types whose arrays can be sent, with the object identifiers that PostgreSQL gave them for good. */
const typeIds = { bool: 16, float8: 701, int4: 23, jsonb: 3802, text: 25, uuid: 2950 } as const;

export type ElementType = keyof typeof typeIds;

/** Their elements in binary form, each after its length; undefined where they cannot be written so at once. */
const encoders: Record<ElementType, (values: readonly Value[]) => Buffer | undefined> = {
  bool: (values) => characters(values, (value) => (value === true ? '\x01' : '\0')),
  float8: (values) => numbers(values, 8, (array, value, at) => array.writeDoubleBE(value, at)),
  int4: (values) =>
    values.every(isInt4)
      ? numbers(values, 4, (array, value, at) => array.writeInt32BE(value, at))
      : undefined,
  // The version of the form, then the JSON.
  jsonb: (values) => characters(values, (value) => `\x01${String(value)}`),
  text: (values) => characters(values, String),
  uuid: uuids,
};

/**
 * An array as a statement's parameter: in binary form, which PostgreSQL reads faster, or as a literal where the binary form
 * takes longer to write (text beyond ASCII) or an element is not of the type: PostgreSQL refuses it then.
 */
export function arrayParameter(type: ElementType, values: readonly Value[]): Buffer | string {
  // `unnest` fills short columns up with nulls: one that has nothing else is sent empty, and costs nothing.
  if (values.every((value) => value === null)) return '{}';
  const elements = encoders[type](values);
  return elements ? Buffer.concat([headOf(type, values), elements]) : arrayLiteral(values);
}

/**
 * A PostgreSQL array literal. JSON's differs only in its brackets and in the escapes of control characters, so that
 * the usual case costs one native serialisation: a third of what the driver's own conversion takes.
 */
export function arrayLiteral(values: readonly Value[]): string {
  const json = JSON.stringify(values);
  if (!/\\[bfnrtu]/.test(json)) return `{${json.slice(1, -1)}}`;
  const quote = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
  return `{${values.map((value) => (typeof value === 'string' ? quote(value) : String(value))).join(',')}}`;
}

/** One dimension that begins at 1. */
function headOf(type: ElementType, values: readonly Value[]): Buffer {
  const head = Buffer.alloc(20);
  const words = [1, values.includes(null) ? 1 : 0, typeIds[type], values.length, 1];
  for (const [at, word] of words.entries()) head.writeInt32BE(word, at * 4);
  return head;
}

/** A length as four bytes, and how many of them no ASCII character has. */
interface Length {
  readonly text: string;
  readonly high: number;
}

function asBytes(length: number): Length {
  const bytes = [length >>> 24, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff];
  return { text: String.fromCharCode(...bytes), high: bytes.filter((byte) => byte > 0x7f).length };
}

const ofNull = asBytes(-1);
const usual = Array.from({ length: 1_024 }, (_, length) => asBytes(length));

/** All elements as one string, a character a byte: to write each by itself takes several times as long. */
function characters(values: readonly Value[], textOf: (value: Value) => string): Buffer | undefined {
  let all = '';
  let high = 0;
  for (const value of values) {
    const text = value === null ? '' : textOf(value);
    const length = value === null ? ofNull : (usual[text.length] ?? asBytes(text.length));
    all += length.text + text;
    high += length.high;
  }
  // In UTF-8 whatever is no ASCII takes more than a byte: here nothing may but the lengths themselves.
  return Buffer.byteLength(all) === all.length + high ? Buffer.from(all, 'latin1') : undefined;
}

const isInt4 = (value: Value): boolean => value === (Number(value) | 0);

function numbers(
  values: readonly Value[],
  bytes: number,
  write: (array: Buffer, value: number, at: number) => void,
): Buffer | undefined {
  const array = Buffer.allocUnsafe(values.length * (4 + bytes));
  let at = 0;
  for (const value of values) {
    if (typeof value !== 'number') return undefined;
    array.writeInt32BE(bytes, at);
    write(array, value, at + 4);
    at += 4 + bytes;
  }
  return array;
}

const uuidPattern = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

function uuids(values: readonly Value[]): Buffer | undefined {
  let digits = '';
  for (const value of values) {
    if (typeof value !== 'string' || !uuidPattern.test(value)) return undefined;
    digits += `00000010${value}`;
  }
  return Buffer.from(digits.replaceAll('-', ''), 'hex');
}
