import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { projectRoot } from '../../../base/common/project.js';
import { placesOf, type Prefixes } from './model-names.js';

/** US dollars for a million tokens. Reasoning costs what other output does, and is counted with it. */
interface Rates {
  readonly input: number;
  readonly output: number;
  /** Prices of input that is read from the provider's cache and written to it; without them, it costs what other input does. */
  readonly cached?: number;
  readonly written?: number;
}

interface Price extends Rates {
  /** The price of a whole call that has more input tokens than these. */
  readonly over?: Rates & { readonly tokens: number };
}

interface PriceFile {
  readonly prefixes: Prefixes;
  /** By provider and name. A provider's own report of a cost wins. */
  readonly lists: Readonly<Record<string, Readonly<Record<string, Price>>>>;
}

const file = JSON.parse(readFileSync(join(projectRoot(), 'model-prices.json'), 'utf8')) as PriceFile;
const found = new LRUCache<string, { readonly price: Price | undefined }>({
  max: 500,
  memoMethod: (model) => ({ price: priceOf(model) }),
});

function priceOf(model: string): Price | undefined {
  if (/\/.+:free$/.test(model)) return { input: 0, output: 0 };
  const places = placesOf(model, file.prefixes).flatMap(([lists, name]) =>
    lists.map((id) => [id, name] as const),
  );
  const [id, name] = places.find((place) => Object.hasOwn(file.lists[place[0]] ?? {}, place[1])) ?? [];
  return id === undefined || name === undefined ? undefined : file.lists[id]?.[name];
}

const perMillion = 1_000_000;

export interface Usage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** Parts of the input: read from the provider's cache, and written to it. */
  readonly cachedTokens: number | null;
  readonly cacheWriteTokens?: number | null;
}

/** @returns US dollars; null if the model's price is not known, or no tokens are */
export function costOf(model: string | null, usage: Usage): number | null {
  const { inputTokens, outputTokens } = usage;
  const price = model === null ? undefined : found.memo(model).price;
  if (!price || (inputTokens === null && outputTokens === null)) return null;
  const input = inputTokens ?? 0;
  const cached = Math.min(usage.cachedTokens ?? 0, input);
  const written = Math.min(usage.cacheWriteTokens ?? 0, input - cached);
  const rates = price.over && input > price.over.tokens ? price.over : price;
  const dollars =
    (input - cached - written) * rates.input +
    cached * (rates.cached ?? rates.input) +
    written * (rates.written ?? rates.input) +
    (outputTokens ?? 0) * rates.output;
  // More digits than a token's price has are the arithmetic's.
  return Number((dollars / perMillion).toFixed(10));
}
