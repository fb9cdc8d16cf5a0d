import { Injectable } from '@nestjs/common';
import { canonicalJson, sha256 } from '../../base/common/canonical-json.js';
import { Problem } from '../../base/common/errors.js';
import { newId } from '../../base/common/ids.js';
import { platformSchema } from '../../call/platforms/platform-schema.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import type { Asks } from '../../web/contract/asks.js';
import type { CallRequest } from '../../web/contract/tool-call.js';
import type { Principal } from '../../web/contract/principal.js';
import { isShown, keptOutcomeOf, type Tool, type ToolDefinition } from '../../web/contract/tool.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import { Door } from '../../call/door/door.js';
import { OpenQuestions } from '../../call/door/open-questions.js';
import { ToolRegistry } from '../../call/door/tool-registry.js';
import { ToolsService } from '../../call/door/tools.service.js';
import type { ChatUsageView } from './assistant.dto.js';
import { type CallPart, callsIn, type ChatMessage } from './chat-message.js';
import { storedOutcome, textIn } from './prompt.js';

/** Max tools offered to a model. More would confuse the model. */
const maxOffered = 40;
/** The tool that reaches no other system than the assistant's own model, and so needs no approval. */
const ownModelTool = 'analyze_with_llm';

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
}

/** The origin of a chat's calls, which the model neither sees nor supplies. */
export interface CallOrigin {
  readonly chatId: string;
  readonly project: string;
  readonly turn: number;
  readonly principal: Principal;
  /** The tab that sent the turn. */
  readonly uiSession: string | undefined;
}

export const investigationOf = (chatId: string): string => `assistant-${chatId}`;

/** Selects the tools that a chat is offered, checks their approvals, and runs their calls through the door. */
@Injectable()
export class ChatTools {
  constructor(
    private readonly registry: ToolRegistry,
    private readonly tools: ToolsService,
    private readonly door: Door,
    private readonly questions: OpenQuestions,
  ) {}

  /** The tools to offer to the model for its next answer. */
  async offered(messages: readonly ChatMessage[], origin: CallOrigin): Promise<OfferedTool[]> {
    const callable = this.registry.all().filter((tool) => isOffered(tool, origin));
    const tools = callable.length <= maxOffered ? callable : await this.select(callable, messages, origin);
    return tools.map((tool) => ({
      name: this.registry.nameIn('openai', tool),
      description: tool.definition.description,
      schema: platformSchema(tool.definition.inputSchema).schema,
    }));
  }

  /**
   * Selects from many tools: find_tools and those of the page, then those that the chat found or called, then those that
   * match the last message.
   */
  private async select(callable: readonly Tool[], messages: readonly ChatMessage[], origin: CallOrigin) {
    const always = callable.filter(
      ({ definition: { kind, name } }) => kind === 'ui' || name === 'find_tools',
    );
    const newestCalls = messages.flatMap(callsIn).reverse();
    const usedNames = newestCalls.flatMap((call) => [...foundBy(call), call.toolName]);
    const query = textIn(messages.findLast(({ role }) => role === 'user') ?? { parts: [] }).slice(0, 1_000);
    const { data } = await this.tools.list({ query, limit: maxOffered, strict: false }, origin);
    const matchingNames = (data as ToolDefinition[]).map(({ name }) => name);
    const others = [...usedNames, ...matchingNames].flatMap((name) => this.registry.find(name) ?? []);
    return [...new Set([...always, ...others.filter((tool) => callable.includes(tool))])].slice(
      0,
      maxOffered,
    );
  }

  /**
   * The approval that a call still needs, for its exact input and the present revision of the tool; undefined if it needs
   * none or has it. Unknown tools need none, because the door refuses them.
   */
  approvalFor({ toolName, input, approval }: CallPart): CallPart['approval'] {
    const tool = this.registry.find(toolName);
    if (!tool || !needsApproval(tool.definition)) return undefined;
    const { revision = tool.definition.version } = tool;
    const id = sha256(canonicalJson([toolName, input, revision]));
    return approval?.approved === true && approval.id === id ? undefined : { id };
  }

  /** Why a call would be refused even with an approval; undefined if it can run. */
  async refusalOf(part: CallPart, origin: CallOrigin): Promise<string | undefined> {
    const request = this.requestOf(part, origin);
    return this.door.accept(request, { forApproval: true }).then(() => undefined, refusalText);
  }

  /**
   * Runs a call through the door and stores its outcome in the part. A call that ran before gets its earlier outcome.
   * @param onQuestion called when the tool asks the person a question, and when the question is over
   */
  async run(part: CallPart, origin: CallOrigin, onQuestion: () => void): Promise<void> {
    const tool = this.registry.find(part.toolName);
    const idempotencyKey = `${origin.chatId}/${origin.turn}/${part.toolCallId}`;
    try {
      const asks = this.asksFor(part, origin, onQuestion);
      const { outcome } = await this.door.call({ ...this.requestOf(part, origin), idempotencyKey, asks });
      const output = storedOutcome(keptOutcomeOf(tool, outcome), tool?.definition.kind === 'mcp');
      Object.assign(part, { state: 'output-available', output });
    } catch (error) {
      Object.assign(part, { state: 'output-error', errorText: refusalText(error) });
    }
  }

  private requestOf({ toolName, input }: CallPart, origin: CallOrigin): CallRequest {
    const { chatId, project, principal, uiSession } = origin;
    const schema = this.registry.find(toolName)?.definition.inputSchema;
    const context = {
      userId: principal.userId,
      requestId: newId(),
      projectId: project,
      investigationId: investigationOf(chatId),
      threadId: chatId,
      ...(uiSession !== undefined && { uiSession }),
    };
    // The model was shown a schema that its platform supports.
    const restored = schema ? platformSchema(schema).restored(input) : input;
    return { tool: toolName, input: restored, principal, context };
  }

  /** Passes questions of the tool to the person: as `question` of the call's part. */
  private asksFor(part: CallPart, { principal }: CallOrigin, onQuestion: () => void): Asks {
    const show = (question?: CallPart['question']): void => {
      if (question) part.question = question;
      else delete part.question;
      onQuestion();
    };
    const live: Asks['live'] = ({ params }, ended) => {
      const channel = {
        send: (questionId: string) => show({ questionId, params }),
        withdraw: () => undefined,
      };
      return this.questions.ask(principal, channel, ended).finally(() => show());
    };
    return { capabilities: { elicitation: { form: {}, url: {} } }, live };
  }
}

/** The text of a refusal. @throws any other error */
function refusalText(error: unknown): string {
  if (error instanceof Problem) return `${error.code}: ${error.detail}`;
  throw error;
}

/** Whether the tool writes, destroys or reaches other systems. */
const needsApproval = ({ name, annotations }: ToolDefinition): boolean =>
  !annotations.readOnly || annotations.destructive || (annotations.openWorld && name !== ownModelTool);

/** Whether the caller may use the tool. Tools of pages also need an open page. */
const isOffered = (tool: Tool, origin: CallOrigin): boolean =>
  isShown(tool, origin) && (tool.definition.kind !== 'ui' || origin.uiSession !== undefined);

/** The usage of the assistant's own model by a tool call. */
export function usageBy({ toolName, output }: CallPart): Partial<ChatUsageView> {
  const { result } = (output ?? {}) as { readonly result?: { readonly usage?: Partial<ChatUsageView> } };
  return (toolName === ownModelTool && result?.usage) || {};
}

/** Names of the tools that a call of find_tools found. */
function foundBy({ toolName, state, output }: CallPart): string[] {
  if (toolName !== 'find_tools' || state !== 'output-available') return [];
  const { result } = output as ToolOutcome & { result?: { tools?: { name: string }[] } };
  return (result?.tools ?? []).map(({ name }) => name);
}
