import { isUtf8 } from 'node:buffer';
import { type Document, isCollection, LineCounter, parseAllDocuments, visit } from 'yaml';

/** Max characters of a YAML text as JSON, in which each alias is replaced by what it stands for. */
const maxJsonChars = 16_777_216;

/**
 * Converts YAML to JSON. Several documents become one list; documents that are lists are flattened into it. For texts
 * of callers it runs in a worker, because a hostile text can take long.
 * @throws Error whose first line describes the fault
 */
export function yamlToJson(text: string): string {
  const lineCounter = new LineCounter();
  const values = [...parseAllDocuments(text, { schema: 'core', merge: true, lineCounter })].map(
    (document) => {
      // Warnings are about tags, which JSON would lose.
      const [error] = [...document.errors, ...document.warnings];
      if (error) throw error;
      checkJsonCanHold(document, lineCounter);
      return document.toJS() as unknown;
    },
  );
  const whole = values.length === 1 ? values[0] : values.filter((value) => value !== null).flat();
  const json = JSON.stringify(whole ?? null);
  if (json.length > maxJsonChars) throw new Error('It is too large once its aliases are written out');
  return json;
}

/** Checks that JSON can express all values. @throws Error that names the line of one that it would alter */
function checkJsonCanHold(document: Document, lines: LineCounter): void {
  const refuse = (offset: number | undefined, reason: string): never => {
    throw new Error(`line ${lines.linePos(offset ?? 0).line}: ${reason}`);
  };
  visit(document, {
    Scalar: (_, { value, source = '', range }) => {
      if (value instanceof Uint8Array) refuse(range?.[0], 'JSON has no bytes: write them as text');
      if (typeof value !== 'number') return;
      if (!Number.isFinite(value)) refuse(range?.[0], `JSON has no ${source}: write it as text, in quotes`);
      if (Number.isInteger(value) && !Number.isSafeInteger(value))
        refuse(range?.[0], `${source} is a number beyond 2^53: write it as text, in quotes`);
    },
    Pair: (_, { key }) => {
      if (isCollection(key)) refuse(key.range?.[0], 'a key must be text, not a list or an object');
    },
  });
}

/** Decodes UTF-8. @throws Error that names the line of the first invalid byte */
export function yamlText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  // Split as bytes: no byte of a multi-byte UTF-8 character equals a line feed.
  const lines = bytes.toString('latin1').split('\n');
  const invalid = lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1')));
  throw new Error(`line ${invalid + 1}: it is not UTF-8`);
}
