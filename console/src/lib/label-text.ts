/** A label of a playbook: one value, or several. */
type LabelValues = Record<string, string | string[]>;

const key = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/;

/** The labels of a situation as they are typed: `environment=production, priority=P0`. */
interface Situation {
  readonly labels: Readonly<Record<string, string>>;
  /** The first part that is no label. */
  readonly wrong: string | undefined;
}

export function situationOf(text: string): Situation {
  const parts = text
    .split(/[,\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const pairs = parts.map((part) => {
    const [name = '', ...rest] = part.split('=');
    return { part, name: name.trim(), value: rest.join('=').trim() };
  });
  const wrong = pairs.find(({ name, value }) => !key.test(name) || value === '')?.part;
  return { labels: Object.fromEntries(pairs.map(({ name, value }) => [name, value])), wrong };
}

/** The labels of a playbook, one a line: `priority: P0, P1`. A value that has a comma of its own makes its line JSON. */
export const linesOfLabels = (labels: LabelValues): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}: ${lineOf([value].flat())}`)
    .join('\n');

const lineOf = (values: readonly string[]): string =>
  values.some((value) => /[,\n]|^\[|^\s|\s$/.test(value)) ? JSON.stringify(values) : values.join(', ');

/** @returns what the lines say; a key without a value has the empty one, which the server refuses by name */
export function labelsOfLines(text: string): LabelValues {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...rest] = line.split(':');
      const values = valuesOf(rest.join(':').trim());
      return [name.trim(), values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}

function valuesOf(text: string): string[] {
  if (text.startsWith('[')) {
    try {
      const values: unknown = JSON.parse(text);
      if (Array.isArray(values)) return values.map(String);
    } catch {
      // While it is typed it is no JSON yet.
    }
  }
  const values = text
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '');
  return values.length === 0 ? [''] : values;
}
