/** Price lists by the prefix of a model's name: `openai` for `openai/gpt-4o`, empty for no prefix, `*` for an unknown one. */
export type Prefixes = Readonly<Record<string, readonly string[]>>;

/** A possible place of a model's price: price lists, and a name in them. */
type Place = [lists: readonly string[], name: string];

/** The form of a name in the price lists. Some providers write a dash of a name as a dot or @. */
export const canonical = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replaceAll('@', '-')
    .replace(/(?<=\d)\.(?=\d)/g, '-');

/** Amazon's resource name of a model or inference profile of Bedrock. */
const bedrockArn = /^(?:.*\/)?arn:aws[\w-]*:bedrock:[^/]*:(?:inference-profile|foundation-model)\//;
/** Region in which Bedrock runs a model. */
const region = /^(?:us|eu|apac|ap|jp|au|ca|in|us-gov|global)\.(?=[a-z]+\.)/;
/** Ends of names that do not change the price, or only to that of another version. */
const tails = [
  // Variants of OpenRouter.
  /:(?:nitro|floor|online|thinking|exacto|extended|beta)$/,
  // Bedrock: numbers after the version, like `:0` and `:0:200k`; then the version itself.
  /(?<=\..*)(?::\d+)+k?$/,
  /(?<=\..*|claude-.+)-v\d+$/,
  // Builds and previews of Gemini.
  /(?<=gemini.*)-(?:\d{3}|(?:preview|exp)(?:-\d\d-(?:\d{4}|\d\d))?)$/,
  // Dates, and names of the newest version.
  /-(?:\d{4}-\d\d-\d\d|20\d{6}|latest|default)$/,
  // Owner and id of a fine-tuned model of OpenAI: the base model remains.
  /(?<=^ft:[^:]+):.*$/,
];

/** The name, then the name without its last tail, and so on; at last without its region. */
export function versionsOf(name: string): string[] {
  const tail = tails.find((each) => each.test(name)) ?? region;
  return tail.test(name) ? [name, ...versionsOf(name.replace(tail, ''))] : [name];
}

/** The possible places of a model's price, the most exact first. @param hasLostPrefix whether an unknown prefix was cut off */
export function placesOf(model: string, prefixes: Prefixes, { hasLostPrefix = false } = {}): Place[] {
  const name = canonical(model).replace(bedrockArn, 'bedrock/');
  const [, prefix = '', separator, rest = ''] = /^([^/:]+)([/:])(.+)$/.exec(name) ?? [];
  const listsOfPrefix = Object.hasOwn(prefixes, prefix) ? prefixes[prefix] : undefined;
  const inLists = (lists: readonly string[] = [], each = name): Place[] =>
    versionsOf(each).map((version) => [lists, version]);
  // OpenRouter's names are an author and a model. Names with capitals are of Hugging Face: their price depends on the host, as
  // does that of prefixes without lists, such as `ollama`.
  const hasPriceOfHost = /[A-Z]/.test(model) || listsOfPrefix?.length === 0;
  const mayBeAuthor = separator === '/' && !hasLostPrefix && !hasPriceOfHost;
  const inOpenRouter = mayBeAuthor ? inLists(['openrouter']) : [];
  if (prefix !== '' && listsOfPrefix)
    return [...endsOf(rest).flatMap((end) => inLists(listsOfPrefix, end)), ...inOpenRouter];
  if (separator === '/') return [...inOpenRouter, ...placesOf(rest, prefixes, { hasLostPrefix: true })];
  return inLists(prefixes[hasLostPrefix ? '*' : '']);
}

/** The name, then the name without its first part, and so on: `eu/gpt-4o` is `gpt-4o` in a region. */
const endsOf = (name: string): string[] =>
  name.includes('/') ? [name, ...endsOf(name.slice(name.indexOf('/') + 1))] : [name];
