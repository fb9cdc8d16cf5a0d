/** Lists of prices that a provider's prefix stands for; of a name without one (``), and behind an unknown one (`*`). */
export type Prefixes = Readonly<Record<string, readonly string[]>>;

/** Providers write the same name with a dot, a dash or @. */
export const canonical = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replaceAll('@', '-')
    .replace(/(?<=\d)\.(?=\d)/g, '-');

const profile = /^(?:.*\/)?arn:aws[\w-]*:bedrock:[^/]*:(?:inference-profile|foundation-model)\//;
const region = /^(?:us|eu|apac|ap|jp|au|ca|in|us-gov|global)\.(?=[a-z]+\.)/;
const tails = [
  /:(?:nitro|floor|online|thinking|exacto|extended|beta)$/,
  /(?<=\..*)(?::\d+)+k?$/,
  /(?<=\..*|claude-.+)-v\d+$/,
  /(?<=gemini.*)-(?:\d{3}|(?:preview|exp)(?:-\d\d-(?:\d{4}|\d\d))?)$/,
  /-(?:\d{4}-\d\d-\d\d|20\d{6}|latest|default)$/,
  /(?<=^ft:[^:]+):.*$/,
];

/** @returns the name, and what is left of it without its version, one part after the other */
export function versionsOf(name: string): string[] {
  const tail = tails.find((each) => each.test(name)) ?? region;
  return tail.test(name) ? [name, ...versionsOf(name.replace(tail, ''))] : [name];
}

/** @returns names of lists and a name in them that may have the price of a model, the likeliest first */
export function placesOf(model: string, prefixes: Prefixes, otherwise = ''): [readonly string[], string][] {
  const name = canonical(model).replace(profile, 'bedrock/');
  const [, prefix = '', separator, rest = ''] = /^([^/:]+)([/:])(.+)$/.exec(name) ?? [];
  const known = Object.hasOwn(prefixes, prefix) ? prefixes[prefix] : undefined;
  const inLists = (lists: readonly string[] = [], each = name): [readonly string[], string][] =>
    versionsOf(each).map((version) => [lists, version]);
  // OpenRouter writes an author and a model; with capitals, it is a name of Hugging Face, which anybody can run.
  const isAuthor = separator === '/' && otherwise === '' && known?.length !== 0 && !/[A-Z]/.test(model);
  const asAuthor = isAuthor ? inLists(['openrouter']) : [];
  if (prefix !== '' && known) return [...endsOf(rest).flatMap((end) => inLists(known, end)), ...asAuthor];
  return separator === '/' ? [...asAuthor, ...placesOf(rest, prefixes, '*')] : inLists(prefixes[otherwise]);
}

/** `eu/gpt-4o` is `gpt-4o` in a region. */
const endsOf = (name: string): string[] =>
  name.includes('/') ? [name, ...endsOf(name.slice(name.indexOf('/') + 1))] : [name];
