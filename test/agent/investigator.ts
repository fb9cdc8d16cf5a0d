import OpenAI from 'openai';

export interface Llm {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly model: string;
}

export interface Incident {
  readonly text: string;
  readonly investigationId: string;
  /** What the platform knows of the incident's place; the LLM neither sees nor chooses them. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ToolUse {
  readonly tool: string;
  readonly input: unknown;
  /** What the LLM read. */
  readonly answer: unknown;
}

/** How an investigation ended. */
export interface Report {
  readonly recommendation: string;
  /** 0 to 1, as the LLM says. */
  readonly confidence: number;
  readonly playbookId: string | null;
  readonly toolUses: readonly ToolUse[];
}

const instructions = `You investigate incidents in a Kubernetes cluster. Decide what to do about the one you are told of.
Call a tool when an incident is complex or several remedies are possible; a simple one needs none.
A tool that answers {"fallback": "continue_without_context"} is not available: go on without it, with less confidence.
End with one JSON object and nothing else: {"recommendation": string, "confidence": number from 0 to 1, "playbook_id": string or null}`;

/**
 * An agent by OpenAI's SDK whose tools are those of a Toolkeeper: it takes their definitions as they are offered and
 * runs each through the door.
 */
export class Investigator {
  private readonly openai: OpenAI;

  constructor(
    private readonly toolkeeper: string,
    private readonly llm: Llm,
    /** Stands between the tool's answer and the LLM, for tests. */
    private readonly onAnswer: (answer: unknown) => unknown = (answer) => answer,
  ) {
    this.openai = new OpenAI({ baseURL: llm.baseURL, apiKey: llm.apiKey, maxRetries: 0 });
  }

  async investigate(incident: Incident): Promise<Report> {
    const toolUses: ToolUse[] = [];
    const tools = (await this.definitions()).map(({ function: { name, description, parameters } }) => ({
      type: 'function' as const,
      function: {
        name,
        description,
        parameters,
        parse: (text: string): object => JSON.parse(text) as object,
        function: async (input: object): Promise<string> => {
          const answer = this.onAnswer(await this.execute(name, input, incident));
          toolUses.push({ tool: name, input, answer });
          return JSON.stringify(answer);
        },
      },
    }));
    const runner = this.openai.chat.completions.runTools({
      model: this.llm.model,
      messages: [
        { role: 'system', content: instructions },
        { role: 'user', content: incident.text },
      ],
      tools,
    });
    return { ...reportIn((await runner.finalContent()) ?? ''), toolUses };
  }

  private async definitions(): Promise<OpenAiToolView[]> {
    const response = await fetch(`${this.toolkeeper}/api/v1/tools?format=openai&limit=100`);
    const { data } = (await response.json()) as { data: OpenAiToolView[] };
    return data;
  }

  /** @returns what an LLM reads: the result, or in its place the fallback or the reason */
  private async execute(tool: string, input: object, incident: Incident): Promise<unknown> {
    const { investigationId, labels } = incident;
    const response = await fetch(`${this.toolkeeper}/api/v1/tools/${tool}/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input, context: { investigationId, ...(labels && { labels }) } }),
    });
    const answer = (await response.json()) as ExecuteAnswer;
    if (!response.ok) return answer.fallback ?? { error: answer.detail };
    return answer.result ?? { error: answer.error?.message };
  }
}

interface OpenAiToolView {
  readonly function: { name: string; description: string; parameters: Record<string, unknown> };
}

interface ExecuteAnswer {
  readonly result?: unknown;
  readonly error?: { readonly message: string };
  readonly fallback?: unknown;
  readonly detail?: string;
}

/** Models like to write around what they were asked for. */
function reportIn(text: string): Omit<Report, 'toolUses'> {
  const json = /\{[\s\S]*\}/.exec(text)?.[0];
  if (json === undefined) throw new Error(`The investigation ended without a report: ${text}`);
  const { recommendation, confidence, playbook_id: playbookId } = JSON.parse(json) as Record<string, unknown>;
  return {
    recommendation: String(recommendation),
    confidence: Number(confidence),
    playbookId: typeof playbookId === 'string' ? playbookId : null,
  };
}
