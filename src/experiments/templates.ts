import { setImmediate } from 'node:timers/promises';
import { isDeeperThan } from '../common/json-depth.js';
import { messageOf } from '../common/message-of.js';
import { memberOf } from '../records/spans/ingest/attribute-lookup.js';

/** As Mustache's parser gives it: a section has the tokens within it. */
type Token = readonly [kind: string, text: string, start: number, end: number, inner?: readonly Token[]];

/** Parsing takes the event loop about a millisecond for each KiB. */
const longestTemplate = 32_768;
/** Sections within sections multiply: characters of all templates of a request together. */
const mostFilled = 1_000_000;
/** Characters that a token counts as, for the time that it takes. */
const ofToken = 32;
const deepest = 32;
const mostParts = 32;

/** A template cannot be read, or its text would be too long. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/**
 * Fills `{{variables}}` into texts. Mustache's parser reads them; its renderer would call functions that it finds, knows
 * no bound, and escapes for HTML, which prompts are not.
 */
export class Templates {
  private left = mostFilled;
  private readonly paths = new Map<string, readonly string[]>();

  /** @param variables JSON */
  constructor(private readonly variables: Readonly<Record<string, unknown>>) {}

  /** @throws TemplateError */
  async fill(template: string): Promise<string> {
    if (!template.includes('{{')) return template;
    if (template.length > longestTemplate)
      throw new TemplateError(
        `a text with variables may have ${longestTemplate} characters: put what is long into a variable`,
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
      throw new TemplateError(`the variables make too much of it: ${mostFilled} characters are the most`);
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
    if (path.length > mostParts) throw new TemplateError(`a name may have ${mostParts} parts`);
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
