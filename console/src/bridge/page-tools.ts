import { detailOf, emitUiEvent, eventsOf, type Json } from './ui-events.js';

/** Answers a call of a tool with a JSON object. @throws Error with a message for the agent */
export type UiHandler = (input: Json) => Json | Promise<Json>;

export interface UiAnswer {
  readonly ok: boolean;
  readonly result?: Json;
  readonly error?: { readonly type: 'tool_error' | 'interrupted'; readonly message: string };
}

const maxMessage = 4_096;

/** The tools that the mounted views answer. If two offer the same tool, the one that was mounted last answers. */
export class PageTools {
  private readonly handlers = new Map<string, UiHandler[]>();

  constructor(private readonly onChange: () => void) {}

  /** @returns a function that removes the handler */
  register(name: string, handler: UiHandler): () => void {
    this.handlers.set(name, [...(this.handlers.get(name) ?? []), handler]);
    this.onChange();
    return () => {
      const left = this.handlers.get(name)?.filter((each) => each !== handler) ?? [];
      if (left.length > 0) this.handlers.set(name, left);
      else this.handlers.delete(name);
      this.onChange();
    };
  }

  names(): string[] {
    return [...this.handlers.keys()].sort();
  }

  async run(callId: string, tool: string, input: Json): Promise<UiAnswer> {
    const [request, response] = eventsOf[tool] ?? [];
    if (request) emitUiEvent(request, { ...input, ...detailOf[tool]?.(input), callId });
    const answer = await this.answer(tool, input);
    const result = answer.ok ? answer.result : { success: false, error: answer.error?.message };
    if (response) emitUiEvent(response, { ...result, callId });
    return answer;
  }

  private async answer(tool: string, input: Json): Promise<UiAnswer> {
    try {
      const handler = this.handlers.get(tool)?.at(-1);
      if (!handler) throw new Error('The user has left the screen that answers this');
      return { ok: true, result: await handler(input) };
    } catch (error) {
      const message = (error instanceof Error ? error.message : String(error)).slice(0, maxMessage);
      return { ok: false, error: { type: 'tool_error', message } };
    }
  }
}
