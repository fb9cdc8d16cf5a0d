/** US dollars for a million tokens. Reasoning costs what other output does, and is counted with it. */
interface Price {
  readonly input: number;
  readonly output: number;
  /** Price of cached input. */
  readonly cached: number;
}

/** The day of the price list below. */
export const pricesAsOf = '2026-08-21';

/**
 * Prices by the models' names, or by the name of one version if that has a price of its own. `claude-sonnet-5` cost two
 * thirds until September 2026; `gemini-3.7-flash` and `gemini-3.6-flash` cost twice as much from January 2027 on. A
 * provider's own report of a cost wins over it. A newer list is put here, with its day above and in docs/agents/span-reference.md: the figures are those that the projects
 * genai-prices (of Pydantic) and LiteLLM keep by provider. Left out are discounts for batches, and what some models charge more for
 * inputs of over 200,000 tokens.
 */
const priced: readonly (readonly [
  names: string,
  ...price: [input: number, cached: number, output: number],
])[] = [
  ['gpt-5.6 gpt-5.6-sol gpt-5.5', 5, 0.5, 30],
  ['gpt-5.6-terra', 2, 0.2, 12],
  ['gpt-5.6-luna', 0.2, 0.02, 1.2],
  ['gpt-5.5-pro gpt-5.4-pro', 30, 30, 180],
  ['gpt-5.4', 2.5, 0.25, 15],
  ['gpt-5.4-mini', 0.75, 0.075, 4.5],
  ['gpt-5.4-nano', 0.2, 0.02, 1.25],
  ['gpt-5.3-chat gpt-5.3-codex gpt-5.2 gpt-5.2-chat gpt-5.2-codex', 1.75, 0.175, 14],
  ['gpt-5.2-pro', 21, 21, 168],
  ['gpt-5.1 gpt-5.1-chat gpt-5.1-codex gpt-5 gpt-5-chat gpt-5-codex', 1.25, 0.125, 10],
  ['gpt-5.1-codex-mini gpt-5-mini', 0.25, 0.025, 2],
  ['gpt-5-nano', 0.05, 0.005, 0.4],
  ['gpt-5-pro', 15, 15, 120],
  ['gpt-4.1 o3', 2, 0.5, 8],
  ['gpt-4.1-mini', 0.4, 0.1, 1.6],
  ['gpt-4.1-nano', 0.1, 0.025, 0.4],
  ['gpt-4o', 2.5, 1.25, 10],
  ['gpt-4o-2024-05-13', 5, 5, 15],
  ['gpt-4o-mini', 0.15, 0.075, 0.6],
  ['gpt-4-turbo', 10, 10, 30],
  ['gpt-3.5-turbo', 0.5, 0.5, 1.5],
  ['gpt-3.5-turbo-0613', 1.5, 1.5, 2],
  ['gpt-3.5-turbo-1106', 1, 1, 2],
  ['o1', 15, 7.5, 60],
  ['o1-mini o3-mini', 1.1, 0.55, 4.4],
  ['o4-mini', 1.1, 0.275, 4.4],
  ['claude-fable-5', 10, 1, 50],
  ['claude-opus-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-opus-4-5', 5, 0.5, 25],
  ['claude-opus-4-1 claude-opus-4-0 claude-opus-4 claude-3-opus', 15, 1.5, 75],
  ['claude-sonnet-5 claude-sonnet-4-6 claude-sonnet-4-5 claude-sonnet-4-0 claude-sonnet-4', 3, 0.3, 15],
  ['claude-3-7-sonnet claude-3-5-sonnet', 3, 0.3, 15],
  ['claude-haiku-4-5', 1, 0.1, 5],
  ['claude-3-5-haiku', 0.8, 0.08, 4],
  ['claude-3-haiku', 0.25, 0.03, 1.25],
  ['gemini-3.7-flash gemini-3.6-flash', 0.75, 0.075, 3.75],
  ['gemini-3.5-flash', 1.5, 0.15, 9],
  ['gemini-3.5-flash-lite gemini-2.5-flash', 0.3, 0.03, 2.5],
  ['gemini-3.1-pro-preview gemini-3-pro-preview', 2, 0.2, 12],
  ['gemini-3.1-flash-lite', 0.25, 0.025, 1.5],
  ['gemini-3-flash-preview', 0.5, 0.05, 3],
  ['gemini-2.5-pro', 1.25, 0.125, 10],
  ['gemini-2.5-flash-lite', 0.1, 0.01, 0.4],
  ['gemini-2.0-flash', 0.1, 0.025, 0.4],
  ['mistral-large-2512', 0.5, 0.05, 1.5],
  ['mistral-large-2411 mistral-large-2407', 2, 2, 6],
  ['mistral-medium', 0.4, 0.4, 2],
  ['mistral-small-2603', 0.15, 0.015, 0.6],
  ['mistral-small-2506', 0.1, 0.1, 0.3],
  ['deepseek-v4-pro', 0.435, 0.003625, 0.87],
  ['deepseek-v4-flash', 0.14, 0.0028, 0.28],
  ['deepseek-chat deepseek-reasoner', 0.28, 0.028, 0.42],
  ['grok-4.5', 2, 0.5, 6],
  ['grok-4.3', 1.25, 0.2, 2.5],
  ['grok-4', 3, 0.75, 15],
  ['grok-code-fast-1', 0.2, 0.02, 1.5],
];
const prices = new Map(
  priced.flatMap(([names, input, cached, output]) =>
    names.split(' ').map((name): [string, Price] => [name, { input, cached, output }]),
  ),
);

const perMillion = 1_000_000;

export interface Usage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** Parts of the input: read from the provider's cache, and written to it. */
  readonly cachedTokens: number | null;
  readonly cacheWriteTokens?: number | null;
}

/** Models that cost more for input which the provider keeps (for five minutes); other models charge it as any input. */
const dearWrites = { names: /^(claude-|gpt-5\.6)/, factor: 1.25 };

/** @returns US dollars; null if the model's price is not known, or no tokens are */
export function costOf(model: string | null, usage: Usage): number | null {
  const { inputTokens, outputTokens } = usage;
  const name = model === null ? undefined : pricedName(model);
  const price = name === undefined ? undefined : prices.get(name);
  if (name === undefined || !price || (inputTokens === null && outputTokens === null)) return null;
  const input = inputTokens ?? 0;
  const output = outputTokens ?? 0;
  const cached = Math.min(usage.cachedTokens ?? 0, input);
  const written = Math.min(usage.cacheWriteTokens ?? 0, input - cached);
  const surcharge = dearWrites.names.test(name) ? written * price.input * (dearWrites.factor - 1) : 0;
  const dollars = (input - cached) * price.input + surcharge + cached * price.cached + output * price.output;
  // More digits than a token's price has are the arithmetic's.
  return Number((dollars / perMillion).toFixed(10));
}

const vendor = /^.*\/|^(?:[a-z]{2,6}\.)?[a-z]+\.(?=[a-z])/g;
const version = /[-@](?:latest|\d{4}-\d\d-\d\d|\d{8}|\d{3,4})?(?:-v\d+(?::\d+)?)?$/;

/**
 * `openai/gpt-4o-2024-11-20` and `us.anthropic.claude-sonnet-4-20250514-v1:0` are versions of their models; a longer name
 * is another model, and may cost ten times as much. A version that has a price of its own has that one.
 */
function pricedName(model: string): string | undefined {
  const name = model.toLowerCase().replace(vendor, '');
  return [name, name.replace(version, '')].find((each) => prices.has(each));
}
