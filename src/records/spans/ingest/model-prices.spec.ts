import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../../base/common/project.js';
import { costOf } from './model-prices.js';

const million = 1_000_000;

/** Prices of a model's input and output for a million tokens, as a short call has them. */
function priceOf(model: string): readonly [number | null, number | null] {
  const none = { inputTokens: null, outputTokens: null, cachedTokens: null };
  const input = costOf(model, { ...none, inputTokens: 100_000 });
  return [input === null ? null : input * 10, costOf(model, { ...none, outputTokens: million })];
}

describe('the price of a model', () => {
  const file = readFileSync(join(projectRoot(), 'test', 'fixtures', 'model-prices.json'), 'utf8');
  const table = JSON.parse(file) as Readonly<
    Record<string, Readonly<Record<string, readonly [number, number]>>>
  >;
  const drawn = Object.entries(table).flatMap(([, names]) => Object.entries(names));

  it('is found by the names of at least 95 of 100 that providers and libraries write', () => {
    const missed = drawn.filter(([model, [input, output]]) => {
      const [ofInput, ofOutput] = priceOf(model);
      return (
        ofInput === null || Math.abs(ofInput - input) > 1e-6 || Math.abs((ofOutput ?? 0) - output) > 1e-6
      );
    });
    expect(drawn.length).toBeGreaterThan(100);
    expect({ missed, share: 1 - missed.length / drawn.length >= 0.95 }).toMatchObject({ share: true });
  });

  it.each(Object.keys(table))('is found by at least eight of ten names of %s', (provider) => {
    const names = Object.keys(table[provider] ?? {});
    const found = names.filter((model) => priceOf(model)[0] !== null);
    expect(found.length).toBeGreaterThanOrEqual(names.length * 0.8);
  });

  it.each([
    ...[
      '',
      ' ',
      '/',
      'openai/',
      ':',
      'constructor',
      '__proto__',
      'openai/constructor',
      'local-model',
      'gpt-9',
    ],
    ...[
      'gpt-4o-clone',
      'gpt-4omega',
      'acme/gpt-4o-clone',
      'my-claude-haiku-4-5',
      'claude-haiku-4-5-mine',
      'claude',
      'gemini',
      'mistral',
    ],
    ...[
      'llama3.1:8b',
      'mistral:7b',
      'mistral:latest',
      'deepseek-r1:8b',
      'gpt-oss:20b',
      'qwen2.5-coder:7b',
      'phi4',
    ],
    ...['ollama/mistral-small-latest', 'ollama_chat/deepseek-chat', 'lm_studio/gpt-4o', 'hosted_vllm/gpt-4o'],
    ...[
      'meta-llama/Llama-3.3-70B-Instruct',
      'Qwen/Qwen3-32B',
      'gemma-3-27b-it',
      'mistral-7b-instruct',
      'mixtral-8x7b',
    ],
    ...['azure/my-deployment', 'openrouter/auto', 'unknown:free', 'ft:my-model:acme::1'],
    ...['arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3'],
    // Groq and OpenRouter write these alike, and want different prices.
    ...['openai/gpt-oss-120b', 'qwen/qwen3-32b'],
    // Most of their tokens are sound or pictures, at prices of their own.
    ...['gpt-4o-realtime-preview', 'gemini-2.5-flash-image'],
  ])('is not known for %j', (model) => {
    expect(priceOf(model)).toEqual([null, null]);
  });

  it('says none without a model or without tokens', () => {
    expect(costOf(null, { inputTokens: 1, outputTokens: 1, cachedTokens: 0 })).toBeNull();
    expect(costOf('gpt-4o', { inputTokens: null, outputTokens: null, cachedTokens: null })).toBeNull();
  });

  it.each([
    ['read from the cache', 'claude-haiku-4-5', { cachedTokens: 100_000 }, 0.01],
    ['written to the cache', 'claude-haiku-4-5', { cachedTokens: 0, cacheWriteTokens: 100_000 }, 0.125],
    ['both', 'claude-haiku-4-5', { cachedTokens: 50_000, cacheWriteTokens: 50_000 }, 0.0675],
    [
      'written where writing costs nothing more',
      'gpt-4o',
      { cachedTokens: 0, cacheWriteTokens: 100_000 },
      0.25,
    ],
    [
      'more cached than there is',
      'claude-haiku-4-5',
      { cachedTokens: 900_000, cacheWriteTokens: 900_000 },
      0.01,
    ],
    ['read where reading costs the same', 'gpt-4-turbo', { cachedTokens: 100_000 }, 1],
  ])('counts input %s', (_case, model, parts, dollars) => {
    expect(costOf(model, { inputTokens: 100_000, outputTokens: 0, ...parts })).toBe(dollars);
  });

  it.each([
    ['gemini-2.5-pro', 200_000, 0.25],
    ['gemini-2.5-pro', 200_001, 0.5000025],
    ['vertex_ai/gemini-2.5-pro', 400_000, 1],
    ['claude-haiku-4-5', 400_000, 0.4],
  ])('of %s for %d tokens is that of a call of this length', (model, inputTokens, dollars) => {
    expect(costOf(model, { inputTokens, outputTokens: 0, cachedTokens: 0 })).toBeCloseTo(dollars, 9);
  });

  it('of output is dearer after a long input', () => {
    expect(costOf('gemini-2.5-pro', { inputTokens: 300_000, outputTokens: million, cachedTokens: 0 })).toBe(
      15.75,
    );
  });
});
