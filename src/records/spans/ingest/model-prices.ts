/** US dollars for a million tokens. Reasoning costs what other output does, and is counted with it. */
interface Price {
  readonly input: number;
  readonly output: number;
  /** Of input that the provider had kept. */
  readonly cached: number;
}

/** The day of the price list below. */
export const pricesAsOf = '2026-08-21';

const price = (input: number, cached: number, output: number): Price => ({ input, cached, output });

/**
 * By the model's name, or by the name of one version where that costs something else. A provider's own report of a cost
 * wins over it. A newer list is put here, with its day above and in docs/agents/span-reference.md: the figures are those that the projects
 * genai-prices (of Pydantic) and LiteLLM keep by provider. Left out are discounts for batches, and what some models charge more for
 * inputs of over 200,000 tokens.
 */
const prices: Readonly<Record<string, Price>> = {
  'gpt-5.6': price(5, 0.5, 30),
  'gpt-5.6-sol': price(5, 0.5, 30),
  'gpt-5.6-terra': price(2, 0.2, 12),
  'gpt-5.6-luna': price(0.2, 0.02, 1.2),
  'gpt-5.5': price(5, 0.5, 30),
  'gpt-5.5-pro': price(30, 30, 180),
  'gpt-5.4': price(2.5, 0.25, 15),
  'gpt-5.4-mini': price(0.75, 0.075, 4.5),
  'gpt-5.4-nano': price(0.2, 0.02, 1.25),
  'gpt-5.4-pro': price(30, 30, 180),
  'gpt-5.3-chat': price(1.75, 0.175, 14),
  'gpt-5.3-codex': price(1.75, 0.175, 14),
  'gpt-5.2': price(1.75, 0.175, 14),
  'gpt-5.2-chat': price(1.75, 0.175, 14),
  'gpt-5.2-codex': price(1.75, 0.175, 14),
  'gpt-5.2-pro': price(21, 21, 168),
  'gpt-5.1': price(1.25, 0.125, 10),
  'gpt-5.1-chat': price(1.25, 0.125, 10),
  'gpt-5.1-codex': price(1.25, 0.125, 10),
  'gpt-5.1-codex-mini': price(0.25, 0.025, 2),
  'gpt-5': price(1.25, 0.125, 10),
  'gpt-5-chat': price(1.25, 0.125, 10),
  'gpt-5-codex': price(1.25, 0.125, 10),
  'gpt-5-mini': price(0.25, 0.025, 2),
  'gpt-5-nano': price(0.05, 0.005, 0.4),
  'gpt-5-pro': price(15, 15, 120),
  'gpt-4.1': price(2, 0.5, 8),
  'gpt-4.1-mini': price(0.4, 0.1, 1.6),
  'gpt-4.1-nano': price(0.1, 0.025, 0.4),
  'gpt-4o': price(2.5, 1.25, 10),
  'gpt-4o-2024-05-13': price(5, 5, 15),
  'gpt-4o-mini': price(0.15, 0.075, 0.6),
  'gpt-4-turbo': price(10, 10, 30),
  'gpt-3.5-turbo': price(0.5, 0.5, 1.5),
  'gpt-3.5-turbo-0613': price(1.5, 1.5, 2),
  'gpt-3.5-turbo-1106': price(1, 1, 2),
  o1: price(15, 7.5, 60),
  'o1-mini': price(1.1, 0.55, 4.4),
  o3: price(2, 0.5, 8),
  'o3-mini': price(1.1, 0.55, 4.4),
  'o4-mini': price(1.1, 0.275, 4.4),
  'claude-fable-5': price(10, 1, 50),
  'claude-opus-5': price(5, 0.5, 25),
  'claude-opus-4-8': price(5, 0.5, 25),
  'claude-opus-4-7': price(5, 0.5, 25),
  'claude-opus-4-6': price(5, 0.5, 25),
  'claude-opus-4-5': price(5, 0.5, 25),
  'claude-opus-4-1': price(15, 1.5, 75),
  'claude-opus-4-0': price(15, 1.5, 75),
  'claude-opus-4': price(15, 1.5, 75),
  // Until September 2026 it cost two thirds of that.
  'claude-sonnet-5': price(3, 0.3, 15),
  'claude-sonnet-4-6': price(3, 0.3, 15),
  'claude-sonnet-4-5': price(3, 0.3, 15),
  'claude-sonnet-4-0': price(3, 0.3, 15),
  'claude-sonnet-4': price(3, 0.3, 15),
  'claude-haiku-4-5': price(1, 0.1, 5),
  'claude-3-7-sonnet': price(3, 0.3, 15),
  'claude-3-5-sonnet': price(3, 0.3, 15),
  'claude-3-5-haiku': price(0.8, 0.08, 4),
  'claude-3-opus': price(15, 1.5, 75),
  'claude-3-haiku': price(0.25, 0.03, 1.25),
  // Both cost twice as much from January 2027 on.
  'gemini-3.7-flash': price(0.75, 0.075, 3.75),
  'gemini-3.6-flash': price(0.75, 0.075, 3.75),
  'gemini-3.5-flash': price(1.5, 0.15, 9),
  'gemini-3.5-flash-lite': price(0.3, 0.03, 2.5),
  'gemini-3.1-pro-preview': price(2, 0.2, 12),
  'gemini-3.1-flash-lite': price(0.25, 0.025, 1.5),
  'gemini-3-pro-preview': price(2, 0.2, 12),
  'gemini-3-flash-preview': price(0.5, 0.05, 3),
  'gemini-2.5-pro': price(1.25, 0.125, 10),
  'gemini-2.5-flash': price(0.3, 0.03, 2.5),
  'gemini-2.5-flash-lite': price(0.1, 0.01, 0.4),
  'gemini-2.0-flash': price(0.1, 0.025, 0.4),
  'mistral-large-2512': price(0.5, 0.05, 1.5),
  'mistral-large-2411': price(2, 2, 6),
  'mistral-large-2407': price(2, 2, 6),
  'mistral-medium': price(0.4, 0.4, 2),
  'mistral-small-2603': price(0.15, 0.015, 0.6),
  'mistral-small-2506': price(0.1, 0.1, 0.3),
  'deepseek-v4-pro': price(0.435, 0.003625, 0.87),
  'deepseek-v4-flash': price(0.14, 0.0028, 0.28),
  'deepseek-chat': price(0.28, 0.028, 0.42),
  'deepseek-reasoner': price(0.28, 0.028, 0.42),
  'grok-4.5': price(2, 0.5, 6),
  'grok-4.3': price(1.25, 0.2, 2.5),
  'grok-4': price(3, 0.75, 15),
  'grok-code-fast-1': price(0.2, 0.02, 1.5),
};

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

/** @returns US dollars; null where the model's price is not known, or no tokens are */
export function costOf(model: string | null, usage: Usage): number | null {
  const { inputTokens, outputTokens } = usage;
  const name = model === null ? undefined : pricedName(model);
  const price = name === undefined ? undefined : prices[name];
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
  return [name, name.replace(version, '')].find((each) => Object.hasOwn(prices, each));
}
