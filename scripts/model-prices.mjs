/**
 * `npm run prices`: writes model-prices.json from the newest genai-prices of Pydantic; what it does not have (yet) is from
 * LiteLLM. The package itself is no dependency: it takes 3 MB and 46 ms in each thread that computes a cost, knows a provider
 * only if it is told, and takes any name with a known beginning for that model.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { canonical, placesOf, versionsOf } from '../dist/src/records/spans/ingest/model-names.js';

const asOf = new Date().toISOString().slice(0, 10);
const folder = mkdtempSync(join(tmpdir(), 'model-prices-'));
const run = (program, ...args) =>
  execFileSync(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
const at = (...path) => join(folder, ...path);

const source = '@pydantic/genai-prices';
run('npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', `${source}@latest`);
const { version } = JSON.parse(readFileSync(at('node_modules', source, 'package.json'), 'utf8'));
const { findProvider } = await import(pathToFileURL(at('node_modules', source, 'dist', 'index.js')).href);

run('python3', '-m', 'pip', 'download', '--quiet', '--no-deps', 'litellm');
const wheel = readdirSync(folder).find((name) => name.endsWith('.whl'));
run('python3', '-m', 'zipfile', '-e', wheel, folder);
const inLiteLlm = JSON.parse(
  readFileSync(at('litellm', 'model_prices_and_context_window_backup.json'), 'utf8'),
);
rmSync(folder, { recursive: true });

/** Providers of LiteLLM whose prices each list may have; model-names.ts says which name is looked up where. */
const vendors = {
  anthropic: ['anthropic'],
  openai: ['openai'],
  google: ['gemini', 'vertex_ai-language-models'],
  'x-ai': ['xai'],
  mistral: ['mistral'],
  deepseek: ['deepseek'],
  cohere: ['cohere', 'cohere_chat'],
  perplexity: ['perplexity'],
  moonshotai: ['moonshot'],
  minimax: ['minimax'],
  zai: ['zai'],
  voyageai: ['voyage'],
};
const hosts = {
  aws: ['bedrock_converse', 'bedrock'],
  azure: ['azure', 'azure_ai'],
  vertex: ['vertex_ai', 'vertex_ai-anthropic_models', 'vertex_ai-mistral_models', 'vertex_ai-llama_models'],
  openrouter: [],
  groq: ['groq'],
  together: ['together_ai'],
  fireworks: ['fireworks_ai'],
  cerebras: ['cerebras'],
};
const lists = { ...vendors, ...hosts };

/** Nobody else runs the models of these: behind any gateway they cost the same. */
const closed = ['anthropic', 'openai', 'google', 'x-ai'];
/** Lists of each prefix, in the words of LiteLLM, OpenRouter, LangChain and pydantic-ai. */
const prefixes = {
  '': [...Object.keys(vendors), 'aws', 'groq-only'],
  '*': closed,
};
for (const [names, ids] of Object.entries({
  anthropic: 'anthropic',
  'aws bedrock bedrock_converse amazon-bedrock amazon_bedrock': 'aws anthropic',
  'azure azure_ai azure_openai azure-openai':
    'azure openai anthropic deepseek x-ai moonshotai mistral cohere',
  cerebras: 'cerebras',
  'cohere cohere_chat': 'cohere',
  deepseek: 'deepseek',
  'fireworks fireworks_ai': 'fireworks',
  'google gemini vertex_ai google-gla google-vertex google_genai google_vertexai': 'vertex google anthropic',
  groq: 'groq-only groq',
  minimax: 'minimax',
  mistral: 'mistral',
  moonshot: 'moonshotai',
  'openai openai-chat openai-responses text-completion-openai': 'openai',
  openrouter: `openrouter openrouter-only ${closed.join(' ')}`,
  perplexity: 'perplexity',
  'together together_ai togetherai': 'together',
  'voyage voyageai': 'voyageai',
  'x-ai xai grok': 'x-ai',
  'z-ai zai': 'zai',
  // These sell at prices of their own, or run what somebody named.
  'aihubmix deepinfra kyma': '',
  'hosted_vllm huggingface llamafile lm_studio lmstudio local localai ollama ollama_chat sagemaker vllm': '',
}))
  for (const name of names.split(' ')) prefixes[name] = ids.split(' ').filter(Boolean);
const prices = Object.fromEntries(Object.keys(lists).map((list) => [list, new Map()]));
/** Weights that anybody can run: the name alone does not say whose price it has. */
const openWeights = /^(?:gpt-oss|gemma|gemini-gemma|(?:code)?llama|mixtral|mistral-(?:\d+b|nemo|small-24b))/;
const isOpen = (list, name) => (vendors[list] ?? list === 'vertex') && openWeights.test(name);
const add = (list, name, price) =>
  prices[list].has(name) || isOpen(list, name) || prices[list].set(name, price);

function priceOf({ prices: all }) {
  const dated = Array.isArray(all) ? all : [{ prices: all }];
  const isHourly = dated.some(({ constraint }) => constraint?.type === 'time_of_date');
  const now = dated.findLast(({ constraint }) => !constraint || constraint.start_date <= asOf).prices;
  const {
    input_mtok: input,
    output_mtok: output = 0,
    cache_read_mtok: cached,
    cache_write_mtok: written,
  } = now;
  const makesMedia = now.output_audio_mtok ?? now.output_image_mtok ?? now.output_video_mtok;
  // Spans say neither the hour's tariff nor how many tokens were sound or pictures, which cost a multiple.
  if (input === undefined || makesMedia !== undefined || isHourly) return undefined;
  const rates = (of) => ({ input: of(input), cached: of(cached), written: of(written), output: of(output) });
  const tokens = [input, output].find((price) => price.tiers)?.tiers[0].start;
  const over =
    tokens === undefined ? {} : { over: { tokens, ...rates((price) => price?.tiers?.[0].price ?? price) } };
  return { ...rates((price) => price?.base ?? price), ...over };
}

/** Whole names and beginnings of names that a rule of the package mentions. */
function mentioned(rule) {
  const [[kind, value]] = Object.entries(rule);
  if (kind === 'or') return value.flatMap(mentioned);
  return kind === 'and' || kind === 'regex' ? [] : [value];
}

/** Names of the package have a region of Bedrock or `regional` in front; of OpenRouter's, the author is a part. */
function namesOf({ id, match }, list) {
  const names = [id, ...mentioned(match)].map((name) => canonical(name).replace(/[-.]$/, ''));
  if (list === 'openrouter') return names.filter((name) => name.includes('/'));
  if (list !== 'aws') return names;
  const placeless = names.map((name) => name.replace(/^(?!global\.)[a-z-]+\.(?=[a-z]+\.)/, ''));
  return placeless.filter((name) => /^(?:global\.)?[a-z]+\./.test(name));
}

/** `claude-4-5-haiku` is also written `claude-haiku-4-5`. */
const swapped = (name) =>
  name.replace(/^claude-(?:(\d(?:-\d)?)-([a-z]+)|([a-z]+)-(\d(?:-\d)?))$/, 'claude-$2$4-$1$3');

for (const list of Object.keys(lists)) {
  const provider = findProvider({ providerId: list });
  const models = provider.id === list ? provider.models : [];
  const named = models.flatMap((model) => {
    const price = priceOf(model);
    return price ? namesOf(model, list).map((name) => [name, price]) : [];
  });
  // What `latest` is has changed since.
  for (const [name, price] of named) if (!name.endsWith('-latest')) add(list, name, price);
  // A name without its version has the price of the version that comes first there; elsewhere is another price.
  for (const [name, price] of named)
    for (const shorter of versionsOf(name).slice(1))
      if (name.startsWith('global.') === shorter.startsWith('global.')) add(list, shorter, price);
}

/** The price that a name already has. */
const found = (model) =>
  placesOf(model, prefixes).flatMap(([some, name]) =>
    some.flatMap((list) => prices[list]?.get(name) ?? []),
  )[0];

const perMillion = (dollars) => (dollars === undefined ? undefined : Number((dollars * 1e6).toFixed(6)));
function priceInLiteLlm(entry) {
  const rates = (end) => ({
    input: perMillion(entry[`input_cost_per_token${end}`]),
    cached: perMillion(entry[`cache_read_input_token_cost${end}`]),
    // 0 says there that it is not known.
    written: perMillion(entry[`cache_creation_input_token_cost${end}`] || undefined),
    output: perMillion(entry[`output_cost_per_token${end}`]),
  });
  const end = Object.keys(entry)
    .find((key) => /^input_cost_per_token_above_\d+k_tokens$/.test(key))
    ?.slice(20);
  const base = rates('');
  const known = end && Object.entries(rates(end)).filter(([, price]) => price !== undefined);
  const over = end && {
    over: { tokens: Number.parseInt(end.slice(7), 10) * 1000, ...base, ...Object.fromEntries(known) },
  };
  return base.input === undefined ? undefined : { ...base, output: base.output ?? 0, ...over };
}

const providers = new Map(
  Object.entries(lists).flatMap(([list, names]) => names.map((name) => [name, list])),
);
const modes = ['chat', 'responses', 'completion', 'embedding'];
for (const [model, entry] of Object.entries(inLiteLlm)) {
  const list = providers.get(entry.litellm_provider);
  const price =
    list && modes.includes(entry.mode) && !/audio|image|live|realtime/.test(model) && priceInLiteLlm(entry);
  // 0 is an experiment's price, or one that is not known.
  if (!price || price.input === 0) continue;
  const known = found(model);
  const isKnown = known?.input === price.input && known.output === price.output;
  const [[own, name]] = placesOf(model, prefixes);
  const isExact = own.includes(list) && own.some((each) => prices[each]?.has(name));
  if (!isKnown && !isExact) add(list, name, price);
}
for (const [name, price] of [...prices.anthropic]) add('anthropic', swapped(name), price);

/** Moves names of a list that mean something else for others. */
function move(from, to, isMoved) {
  const moved = [...prices[from]].filter(([name, price]) => isMoved(name, price));
  prices[to] = new Map(moved);
  for (const [name] of moved) prices[from].delete(name);
}
move('groq', 'groq-only', (name) => /-(?:versatile|instant)$/.test(name));
move('openrouter', 'openrouter-only', (name, { input, output }) =>
  ['groq', 'together'].some((other) => {
    const price = prices[other].get(name);
    return price && (price.input !== input || price.output !== output);
  }),
);

const about = [
  'US dollars per million tokens: input, input read from and written to the cache of the provider, output;',
  'over: the prices of a call with more input tokens. Names have dashes for @ and for dots between digits.',
  `Written by npm run prices from ${source} ${version} and ${wheel.split('-').slice(0, 2).join(' ')} (NOTICE.md).`,
].join(' ');
const blocks = Object.entries(prices).map(([list, named]) => {
  const sorted = [...named].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const lines = sorted.map(([name, price]) => `      ${JSON.stringify(name)}: ${JSON.stringify(price)}`);
  return `    ${JSON.stringify(list)}: {\n${lines.join(',\n')}\n    }`;
});
const text = `{
  "asOf": ${JSON.stringify(asOf)},
  "about": ${JSON.stringify(about)},
  "prefixes": {
${Object.entries(prefixes)
  .map((entry) => `    ${entry.map((part) => JSON.stringify(part)).join(': ')}`)
  .join(',\n')}
  },
  "lists": {
${blocks.join(',\n')}
  }
}
`;
writeFileSync(new URL('../model-prices.json', import.meta.url), text);
