/** US dollars for a million tokens. Reasoning costs what other output does, and is counted with it. */
interface Price {
  readonly input: number;
  readonly output: number;
  /** Of input that the provider had kept. */
  readonly cached: number;
}

/** The day of the providers' price lists that the table was made from. */
export const pricesAsOf = '2025-10-01';

const price = (input: number, cached: number, output: number): Price => ({ input, cached, output });

/** By the model's name. A provider's own report of a cost wins over it. */
const prices: Readonly<Record<string, Price>> = {
  'gpt-5': price(1.25, 0.125, 10),
  'gpt-5-mini': price(0.25, 0.025, 2),
  'gpt-5-nano': price(0.05, 0.005, 0.4),
  'gpt-4.1': price(2, 0.5, 8),
  'gpt-4.1-mini': price(0.4, 0.1, 1.6),
  'gpt-4.1-nano': price(0.1, 0.025, 0.4),
  'gpt-4o': price(2.5, 1.25, 10),
  'gpt-4o-mini': price(0.15, 0.075, 0.6),
  'gpt-4-turbo': price(10, 10, 30),
  'gpt-3.5-turbo': price(0.5, 0.5, 1.5),
  o1: price(15, 7.5, 60),
  o3: price(2, 0.5, 8),
  'o3-mini': price(1.1, 0.55, 4.4),
  'o4-mini': price(1.1, 0.275, 4.4),
  'claude-opus-4-1': price(15, 1.5, 75),
  'claude-opus-4': price(15, 1.5, 75),
  'claude-sonnet-4-5': price(3, 0.3, 15),
  'claude-sonnet-4': price(3, 0.3, 15),
  'claude-3-7-sonnet': price(3, 0.3, 15),
  'claude-3-5-sonnet': price(3, 0.3, 15),
  'claude-3-5-haiku': price(0.8, 0.08, 4),
  'claude-3-opus': price(15, 1.5, 75),
  'claude-3-haiku': price(0.25, 0.03, 1.25),
  'gemini-2.5-pro': price(1.25, 0.31, 10),
  'gemini-2.5-flash': price(0.3, 0.075, 2.5),
  'gemini-2.5-flash-lite': price(0.1, 0.025, 0.4),
  'gemini-2.0-flash': price(0.1, 0.025, 0.4),
  'mistral-large': price(2, 2, 6),
  'mistral-small': price(0.1, 0.1, 0.3),
  'deepseek-chat': price(0.28, 0.028, 0.42),
  'deepseek-reasoner': price(0.28, 0.028, 0.42),
};

const perMillion = 1_000_000;

export interface Usage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** Part of the input. */
  readonly cachedTokens: number | null;
}

/** @returns US dollars; null where the model's price is not known, or no tokens are */
export function costOf(model: string | null, usage: Usage): number | null {
  const { inputTokens, outputTokens } = usage;
  const price = model === null ? undefined : priceOf(model);
  if (!price || (inputTokens === null && outputTokens === null)) return null;
  const input = inputTokens ?? 0;
  const output = outputTokens ?? 0;
  const cached = Math.min(usage.cachedTokens ?? 0, input);
  const dollars = (input - cached) * price.input + cached * price.cached + output * price.output;
  // More digits than a token's price has are the arithmetic's.
  return Number((dollars / perMillion).toFixed(10));
}

const vendor = /^.*\/|^(?:[a-z]{2,6}\.)?[a-z]+\.(?=[a-z])/g;
const version = /[-@](?:latest|\d{4}-\d\d-\d\d|\d{8}|\d{3,4})?(?:-v\d+(?::\d+)?)?$/;

/**
 * `openai/gpt-4o-2024-11-20` and `us.anthropic.claude-sonnet-4-20250514-v1:0` are versions of their models; a longer name
 * is another model, and may cost ten times as much.
 */
function priceOf(model: string): Price | undefined {
  const name = model.toLowerCase().replace(vendor, '').replace(version, '');
  return Object.hasOwn(prices, name) ? prices[name] : undefined;
}
