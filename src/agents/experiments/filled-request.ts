import { setImmediate } from 'node:timers/promises';
import { isHeaderValue } from './experiment-checks.js';
import type { ExperimentSettings, Json } from './experiments.dto.js';
import { isDeeperThan } from '../../base/common/json-depth.js';
import { messageOf } from '../../base/common/message-of.js';
import { memberOf } from '../../records/spans/ingest/attribute-lookup.js';

/** A request to the model, ready to be sent. */
interface FilledRequest {
  readonly body: Json;
  readonly headers: Readonly<Record<string, string>>;
}

/** Members that describe the experiment and are not sent to the model. */
const experimentMembers = ['name', 'description', 'headers', 'promptVariables', 'prompt_variables'];
/** Members that are left out, because the answer is not streamed. */
const streamMembers = ['stream', 'stream_options'];

/**
 * The request of a run, with `{{variables}}` in messages, tools and headers replaced by their values.
 * @throws TemplateError that names the field
 */
export async function filledRequest(
  experiment: Omit<ExperimentSettings, 'name' | 'description'>,
): Promise<FilledRequest> {
  const { modified_request: request, model_parameters: parameters, prompt_variables: variables } = experiment;
  const templates = new Templates(variables);
  const { messages, tools, ...rest } = without({ ...request, ...parameters }, [
    ...experimentMembers,
    ...streamMembers,
  ]);
  const hasTools = tools !== undefined && !(Array.isArray(tools) && tools.length === 0);
  const body = {
    ...rest,
    messages: await fillValue(messages, templates, 'messages'),
    // Most endpoints refuse an empty list.
    ...(hasTools && { tools: await fillValue(tools, templates, 'tools') }),
    stream: false,
  };
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(experiment.headers)) {
    const filled = await fillText(value, templates, `headers/${name}`);
    if (!isHeaderValue(filled))
      throw new TemplateError(`headers/${name}: must be printable ASCII once it is filled in`);
    headers[name.toLowerCase()] = filled;
  }
  return { body, headers };
}

const without = (object: Json, names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));

async function fillValue(value: unknown, templates: Templates, place: string): Promise<unknown> {
  if (typeof value === 'string') return fillText(value, templates, place);
  if (typeof value !== 'object' || value === null) return value;
  const members: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value))
    members.push([name, await fillValue(member, templates, `${place}/${name}`)]);
  return Array.isArray(value) ? members.map(([, member]) => member) : Object.fromEntries(members);
}

/** Fills one text. @throws TemplateError that names its place */
async function fillText(text: string, templates: Templates, place: string): Promise<string> {
  try {
    return await templates.fill(text);
  } catch (error) {
    throw error instanceof TemplateError ? new TemplateError(`${place}: ${error.message}`) : error;
  }
}

/** A token of Mustache's parser. `inner` are the tokens of a section. */
type Token = readonly [kind: string, text: string, start: number, end: number, inner?: readonly Token[]];

/** Max characters of a template: parsing one blocks the event loop for about a millisecond per KiB. */
const maxTemplateLength = 32_768;
/** Max characters of all filled templates of a request, because nested sections multiply. */
const maxFilledLength = 1_000_000;
/** Characters that each token counts in addition, because it takes time even if its text is empty. */
const tokenCost = 32;
/** Max depth of nested sections. */
const maxDepth = 32;
/** Max parts of a dotted name. */
const maxParts = 32;

/** Thrown if a template is invalid, or its text would be too long. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/**
 * Fills `{{variables}}` into texts. Uses only Mustache's parser: its renderer calls functions in variables, has no limits,
 * and escapes for HTML.
 */
export class Templates {
  /** Characters that may still be filled. */
  private remaining = maxFilledLength;
  /** Parts of dotted names, by name. */
  private readonly paths = new Map<string, readonly string[]>();

  /** @param variables the values by name, a JSON object */
  constructor(private readonly variables: Readonly<Record<string, unknown>>) {}

  /** Fills a template. @throws TemplateError */
  async fill(template: string): Promise<string> {
    if (!template.includes('{{')) return template;
    if (template.length > maxTemplateLength)
      throw new TemplateError(
        `a text with variables may have ${maxTemplateLength} characters: put long parts into a variable`,
      );
    // Yields to other requests between templates.
    await setImmediate();
    return this.textOf(await parse(template), [this.variables]);
  }

  /** The text of parsed tokens. @param scopes objects in which names are looked up, innermost first */
  private textOf(tokens: readonly Token[], scopes: readonly unknown[]): string {
    // An empty list of tokens takes time as well.
    this.spend(tokenCost);
    return tokens
      .map((token) => {
        const text = this.fillToken(token, scopes);
        this.spend(tokenCost + text.length);
        return text;
      })
      .join('');
  }

  /** Counts the work for characters. @throws TemplateError if it is too much */
  private spend(characters: number): void {
    this.remaining -= characters;
    if (this.remaining < 0)
      throw new TemplateError(
        `the filled request is over ${maxFilledLength} characters: shorten its variables`,
      );
  }

  /** The text of one token: plain text, a section (`#`, `^`) or a variable. */
  private fillToken([kind, text, , , inner = []]: Token, scopes: readonly unknown[]): string {
    if (kind === 'text') return text;
    if (kind === '>') throw new TemplateError(`there are no partials: {{>${text}}}`);
    const value = valueOf(this.pathOf(text), scopes);
    if (kind === '#') return this.section(value, inner, scopes);
    if (kind === '^') return isNothing(value) ? this.textOf(inner, scopes) : '';
    return asText(value);
  }

  /** The parts of a dotted name. Cached, because sections repeat names. */
  private pathOf(text: string): readonly string[] {
    const path = this.paths.get(text) ?? (text === '.' ? [] : text.split('.'));
    if (path.length > maxParts) throw new TemplateError(`a name may have ${maxParts} parts`);
    this.paths.set(text, path);
    this.spend(path.length);
    return path;
  }

  /** Fills a section for each member of a list, or once for another value that is not empty. */
  private section(value: unknown, inner: readonly Token[], scopes: readonly unknown[]): string {
    if (isNothing(value)) return '';
    const members = Array.isArray(value) ? (value as unknown[]) : [value];
    return members.map((member) => this.textOf(inner, [member, ...scopes])).join('');
  }
}

/** The tokens of a template. @throws TemplateError */
async function parse(template: string): Promise<readonly Token[]> {
  const { default: mustache } = await import('mustache');
  let tokens: readonly Token[];
  try {
    // Not the shared writer, which caches all templates for ever.
    tokens = new mustache.Writer().parse(template) as readonly Token[];
  } catch (error) {
    throw new TemplateError(messageOf(error));
  }
  // Each section adds two levels: a list of tokens within a token.
  if (isDeeperThan(tokens, 2 * (maxDepth + 1)))
    throw new TemplateError(`sections may be nested ${maxDepth} deep`);
  return tokens;
}

/** Whether a section is left out for a value. */
const isNothing = (value: unknown): boolean => !value || (Array.isArray(value) && value.length === 0);

/** Looks a name up in the innermost scope that has its first part. Only own members of objects and lists count. */
function valueOf(path: readonly string[], scopes: readonly unknown[]): unknown {
  const [first] = path;
  if (first === undefined) return scopes[0];
  let value = scopes.find((scope) => memberOf(scope, first) !== undefined);
  for (const name of path) value = memberOf(value, name);
  return value;
}

/** A value as it stands in a text: objects and lists as JSON. */
function asText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
