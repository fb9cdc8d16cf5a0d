import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { projectRoot } from '../../../base/common/project.js';
import { placesOf, type Prefixes } from './model-names.js';

/** US dollars per million tokens. Reasoning tokens are part of the output. */
interface Rates {
  readonly input: number;
  readonly output: number;
  /** Input read from the provider's cache; by default the price of other input. */
  readonly cached?: number;
  /** Input written to the provider's cache; by default the price of other input. */
  readonly written?: number;
}

/** The price of a model. */
interface Price extends Rates {
  /** Rates of the whole call if it has more input tokens than `tokens`. */
  readonly over?: Rates & { readonly tokens: number };
}

/** The content of model-prices.json. */
interface PriceFile {
  readonly prefixes: Prefixes;
  /** Prices by list, which is a provider's or a part of one's, and by the model's name. */
  readonly lists: Readonly<Record<string, Readonly<Record<string, Price>>>>;
}

const priceFile = JSON.parse(readFileSync(join(projectRoot(), 'model-prices.json'), 'utf8')) as PriceFile;
/** Prices of the latest models, because a search of the lists is slow. */
const priceCache = new LRUCache<string, { readonly price: Price | undefined }>({
  max: 500,
  memoMethod: (model) => ({ price: priceOf(model) }),
});

/** Searches the price of a model in the lists. */
function priceOf(model: string): Price | undefined {
  // Free variants of OpenRouter.
  if (/\/.+:free$/.test(model)) return { input: 0, output: 0 };
  for (const [lists, name] of placesOf(model, priceFile.prefixes))
    for (const list of lists) {
      const prices = priceFile.lists[list] ?? {};
      if (Object.hasOwn(prices, name)) return prices[name];
    }
  return undefined;
}

/** Tokens that a call of a model used. */
export interface Usage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** Part of the input that was read from the provider's cache. */
  readonly cachedTokens: number | null;
  /** Part of the input that was written to the provider's cache. */
  readonly cacheWriteTokens?: number | null;
}

/** The cost of a model call in US dollars; null if the model's price or the tokens are unknown. */
export function costOf(model: string | null, usage: Usage): number | null {
  const { inputTokens, outputTokens } = usage;
  const price = model === null ? undefined : priceCache.memo(model).price;
  if (!price || (inputTokens === null && outputTokens === null)) return null;
  const input = inputTokens ?? 0;
  const cached = Math.min(usage.cachedTokens ?? 0, input);
  const written = Math.min(usage.cacheWriteTokens ?? 0, input - cached);
  const rates = price.over && input > price.over.tokens ? price.over : price;
  const microDollars =
    (input - cached - written) * rates.input +
    cached * (rates.cached ?? rates.input) +
    written * (rates.written ?? rates.input) +
    (outputTokens ?? 0) * rates.output;
  // Further digits come from floating-point arithmetic.
  return Number((microDollars / 1_000_000).toFixed(10));
}
