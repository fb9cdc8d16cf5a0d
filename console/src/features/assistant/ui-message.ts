import type { AskedQuestion } from '../../lib/asked-question.js';

// Messages and chunks of the AI SDK's UI message stream, as far as the server writes them.

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
}

/** The outcome of a call, as the server's tools answer it. */
export interface Outcome {
  readonly executionId?: string;
  readonly tool?: string;
  readonly status?: string;
  readonly executionTimeMs?: number;
  readonly result?: unknown;
  readonly error?: { readonly type: string; readonly message: string };
}

export interface CallPart {
  readonly type: 'dynamic-tool';
  readonly toolName: string;
  readonly toolCallId: string;
  readonly input: unknown;
  readonly state: string;
  readonly approval?: { readonly id: string; readonly approved?: boolean; readonly note?: string };
  readonly output?: Outcome;
  readonly errorText?: string;
  /** The question of its tool that waits for the person. */
  readonly question?: AskedQuestion | undefined;
}

export type Part = { readonly type: 'step-start' } | TextPart | CallPart;

export interface UiMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly parts: readonly Part[];
}

export interface Usage {
  readonly steps: number;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number | null;
}

/** A chat as its stream changes it. */
export interface ChatState {
  readonly messages: readonly UiMessage[];
  readonly state: string;
  readonly error: string | null;
  readonly usage: Usage | undefined;
}

export type Chunk = Readonly<Record<string, unknown>> & { readonly type: string };

/** The chat after a chunk of its stream. A stream repeats its whole message, so `start` drops the old copy. */
export function withChunk(chat: ChatState, chunk: Chunk): ChatState {
  const { type, messageMetadata: more } = chunk as Chunk & {
    messageMetadata?: { usage?: Usage; state?: string };
  };
  if (type === 'start') {
    const id = String(chunk['messageId']);
    const others = chat.messages.filter((message) => message.id !== id);
    return {
      ...chat,
      state: 'running',
      error: null,
      messages: [...others, { id, role: 'assistant', parts: [] }],
    };
  }
  if (type === 'message-metadata') return { ...chat, usage: more?.usage ?? chat.usage };
  if (type === 'error') return { ...chat, error: String(chunk['errorText']) };
  if (type === 'finish') return { ...chat, state: more?.state ?? 'idle' };
  const last = chat.messages.at(-1);
  const parts = last && partsAfter(last.parts, chunk);
  return parts ? { ...chat, messages: [...chat.messages.slice(0, -1), { ...last, parts }] } : chat;
}

const states: Readonly<Record<string, string>> = {
  'tool-approval-request': 'approval-requested',
  'tool-approval-response': 'approval-responded',
  'tool-output-available': 'output-available',
  'tool-output-error': 'output-error',
  'tool-output-denied': 'output-denied',
};

function partsAfter(parts: readonly Part[], chunk: Chunk): readonly Part[] | undefined {
  const { type } = chunk;
  const { delta, toolCallId, toolName, input } = chunk as unknown as CallPart & { delta: string };
  if (type === 'start-step') return [...parts, { type: 'step-start' }];
  if (type === 'text-start') return [...parts, { type: 'text', text: '' }];
  if (type === 'text-delta') {
    const last = parts.at(-1);
    return last?.type === 'text' ? [...parts.slice(0, -1), { ...last, text: last.text + delta }] : parts;
  }
  if (type === 'tool-input-available')
    return [...parts, { type: 'dynamic-tool', toolName, toolCallId, input, state: 'input-available' }];
  if (type === 'data-question') {
    const asked = chunk['data'] as Partial<AskedQuestion>;
    const question = asked.questionId === undefined ? undefined : (asked as AskedQuestion);
    const isOf = (part: Part): boolean => part.type === 'dynamic-tool' && part.toolCallId === chunk['id'];
    return parts.map((part) => (isOf(part) ? { ...(part as CallPart), question } : part));
  }
  const state = states[type];
  if (state === undefined) return undefined;
  return parts.map((part) =>
    part.type === 'dynamic-tool' &&
    (part.toolCallId === toolCallId ||
      (type === 'tool-approval-response' && part.approval?.id === chunk['approvalId']))
      ? { ...part, state, ...changeOf(part, chunk) }
      : part,
  );
}

function changeOf({ approval }: CallPart, { type, ...chunk }: Chunk): Partial<CallPart> {
  if (type === 'tool-approval-request') return { approval: { id: String(chunk['approvalId']) } };
  if (type === 'tool-approval-response')
    return { approval: { id: approval?.id ?? '', approved: chunk['approved'] === true } };
  if (type === 'tool-output-available') return { output: chunk['output'] as Outcome };
  return type === 'tool-output-error' ? { errorText: String(chunk['errorText']) } : {};
}
