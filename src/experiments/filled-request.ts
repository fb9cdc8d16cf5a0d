import { isHeaderValue } from './experiment-checks.js';
import type { ExperimentSettings, Json } from './experiments.dto.js';
import { TemplateError, Templates } from './templates.js';

interface FilledRequest {
  readonly body: Json;
  readonly headers: Readonly<Record<string, string>>;
}

/** Members that say something about the experiment: no model is asked with them. */
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
