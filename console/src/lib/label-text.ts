/** Labels of a playbook, with one or several values each. */
type LabelValues = Record<string, string | string[]>;

const key = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/;

/** Labels parsed from text such as `environment=production, priority=P0`. */
interface Situation {
  readonly labels: Readonly<Record<string, string>>;
  /** The first part that is not a label. */
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

/** The labels of a playbook, one per line: `priority: P0, P1`. Values that contain a comma are written as JSON. */
export const linesOfLabels = (labels: LabelValues): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}: ${lineOf([value].flat())}`)
    .join('\n');

const lineOf = (values: readonly string[]): string =>
  values.some((value) => /[,\n]|^\[|^\s|\s$/.test(value)) ? JSON.stringify(values) : values.join(', ');

/** Parses the lines of `linesOfLabels`. A key without a value gets an empty one, which the server rejects by name. */
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
      // Incomplete JSON while the user is typing.
    }
  }
  const values = text
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '');
  return values.length === 0 ? [''] : values;
}
