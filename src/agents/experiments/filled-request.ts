import { setImmediate } from 'node:timers/promises';
import { isHeaderValue } from './experiment-checks.js';
import type { ExperimentSettings, Json } from './experiments.dto.js';
import { isDeeperThan } from '../../base/common/json-depth.js';
import { messageOf } from '../../base/common/message-of.js';
import { memberOf } from '../../records/spans/ingest/attribute-lookup.js';

interface FilledRequest {
  readonly body: Json;
  readonly headers: Readonly<Record<string, string>>;
}

/** Members that describe the experiment and are not sent to the model. */
const notForModels = ['name', 'description', 'headers', 'promptVariables', 'prompt_variables'];
/** The answer comes in one piece. */
const ofStreams = ['stream', 'stream_options'];

/**
 * The request of a run: `{{variables}}` filled in, in messages, tools and headers.
 * @throws TemplateError that names the place
 */
export async function filledRequest(
  experiment: Omit<ExperimentSettings, 'name' | 'description'>,
): Promise<FilledRequest> {
  const { modified_request: request, model_parameters: parameters, prompt_variables: variables } = experiment;
  const templates = new Templates(variables);
  const { messages, tools, ...rest } = without({ ...request, ...parameters }, [
    ...notForModels,
    ...ofStreams,
  ]);
  const hasTools = tools !== undefined && !(Array.isArray(tools) && tools.length === 0);
  const body = {
    ...rest,
    messages: await filledIn(messages, templates, 'messages'),
    // An empty list is refused by most endpoints.
    ...(hasTools && { tools: await filledIn(tools, templates, 'tools') }),
    stream: false,
  };
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(experiment.headers)) {
    const filled = await filledText(value, templates, `headers/${name}`);
    if (!isHeaderValue(filled))
      throw new TemplateError(`headers/${name}: must be printable ASCII once it is filled in`);
    headers[name.toLowerCase()] = filled;
  }
  return { body, headers };
}

const without = (object: Json, names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));

async function filledIn(value: unknown, templates: Templates, place: string): Promise<unknown> {
  if (typeof value === 'string') return filledText(value, templates, place);
  if (typeof value !== 'object' || value === null) return value;
  const members: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value))
    members.push([name, await filledIn(member, templates, `${place}/${name}`)]);
  return Array.isArray(value) ? members.map(([, member]) => member) : Object.fromEntries(members);
}

async function filledText(text: string, templates: Templates, place: string): Promise<string> {
  try {
    return await templates.fill(text);
  } catch (error) {
    throw error instanceof TemplateError ? new TemplateError(`${place}: ${error.message}`) : error;
  }
}

/** A token of Mustache's parser: a section has the tokens within it. */
type Token = readonly [kind: string, text: string, start: number, end: number, inner?: readonly Token[]];

/** Parsing takes the event loop about a millisecond for each KiB. */
const maxTemplateLength = 32_768;
/** Sections within sections multiply: characters of all templates of a request together. */
const maxFilled = 1_000_000;
/** Characters that a token counts as, for the time that it takes. */
const ofToken = 32;
const deepest = 32;
const maxParts = 32;

/** A template cannot be read, or its text would be too long. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/**
 * Fills `{{variables}}` into texts. Mustache's parser reads them; its renderer would call functions that it finds, knows
 * no bound, and escapes for HTML, which prompts are not.
 */
export class Templates {
  private left = maxFilled;
  private readonly paths = new Map<string, readonly string[]>();

  /** @param variables JSON */
  constructor(private readonly variables: Readonly<Record<string, unknown>>) {}

  /** @throws TemplateError */
  async fill(template: string): Promise<string> {
    if (!template.includes('{{')) return template;
    if (template.length > maxTemplateLength)
      throw new TemplateError(
        `a text with variables may have ${maxTemplateLength} characters: put what is long into a variable`,
      );
    // Other requests are served between one template and the next.
    await setImmediate();
    return this.textOf(await parsed(template), [this.variables]);
  }

  private textOf(tokens: readonly Token[], scopes: readonly unknown[]): string {
    // A section that holds nothing takes its time as well.
    this.spend(ofToken);
    return tokens
      .map((token) => {
        const text = this.filled(token, scopes);
        this.spend(ofToken + text.length);
        return text;
      })
      .join('');
  }

  private spend(characters: number): void {
    this.left -= characters;
    if (this.left < 0)
      throw new TemplateError(`the variables make too much of it: ${maxFilled} characters are the most`);
  }

  private filled([kind, text, , , inner = []]: Token, scopes: readonly unknown[]): string {
    if (kind === 'text') return text;
    if (kind === '>') throw new TemplateError(`there are no partials: {{>${text}}}`);
    const value = valueOf(this.pathOf(text), scopes);
    if (kind === '#') return this.section(value, inner, scopes);
    if (kind === '^') return isNothing(value) ? this.textOf(inner, scopes) : '';
    return asText(value);
  }

  /** Split once, however often a section repeats it. */
  private pathOf(text: string): readonly string[] {
    const path = this.paths.get(text) ?? (text === '.' ? [] : text.split('.'));
    if (path.length > maxParts) throw new TemplateError(`a name may have ${maxParts} parts`);
    this.paths.set(text, path);
    this.spend(path.length);
    return path;
  }

  /** A list's section is filled for each member, any other value's once; nothing's not at all. */
  private section(value: unknown, inner: readonly Token[], scopes: readonly unknown[]): string {
    if (isNothing(value)) return '';
    const members = Array.isArray(value) ? (value as unknown[]) : [value];
    return members.map((member) => this.textOf(inner, [member, ...scopes])).join('');
  }
}

async function parsed(template: string): Promise<readonly Token[]> {
  const { default: mustache } = await import('mustache');
  let tokens: readonly Token[];
  try {
    // A writer of its own: what the shared one has parsed, it keeps for ever.
    tokens = new mustache.Writer().parse(template) as readonly Token[];
  } catch (error) {
    throw new TemplateError(messageOf(error));
  }
  // A section is a list of tokens within a token.
  if (isDeeperThan(tokens, 2 * (deepest + 1)))
    throw new TemplateError(`sections may stand ${deepest} deep in each other`);
  return tokens;
}

const isNothing = (value: unknown): boolean => !value || (Array.isArray(value) && value.length === 0);

/** The innermost scope that has the first name decides; of objects and lists their own members count alone. */
function valueOf(path: readonly string[], scopes: readonly unknown[]): unknown {
  const [first] = path;
  if (first === undefined) return scopes[0];
  return path.reduce(
    memberOf,
    scopes.find((each) => memberOf(each, first) !== undefined),
  );
}

function asText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
