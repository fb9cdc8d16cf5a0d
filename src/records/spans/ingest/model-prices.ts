import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../../base/common/project.js';

interface PriceList {
  /** The day of its prices. */
  readonly asOf: string;
  /** By the models' names, or by the name of one version if that has a price of its own. */
  readonly models: Readonly<Record<string, Price>>;
}

/** US dollars for a million tokens. Reasoning costs what other output does, and is counted with it. */
interface Price {
  readonly input: number;
  readonly output: number;
  /** Price of cached input. */
  readonly cached: number;
}

/** A provider's own report of a cost wins over this list. */
const list = JSON.parse(readFileSync(join(projectRoot(), 'model-prices.json'), 'utf8')) as PriceList;
const prices = new Map(Object.entries(list.models));

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
