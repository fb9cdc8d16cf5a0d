/** A text in a message. All messages have the form of the AI SDK's UI messages. */
export interface TextPart {
  readonly type: 'text';
  text: string;
  state: 'streaming' | 'done';
}

/** A call that the model requested. `output` is its outcome. */
export interface CallPart {
  readonly type: 'dynamic-tool';
  readonly toolName: string;
  readonly toolCallId: string;
  readonly input: unknown;
  state:
    | `input-available`
    | `approval-${'requested' | 'responded'}`
    | `output-${'available' | 'error' | 'denied'}`;
  /** `id` is the hash of the tool's revision and the input, to which it is limited. `note`: why it is requested again. */
  approval?: { readonly id: string; readonly approved?: boolean; readonly note?: string };
  output?: unknown;
  errorText?: string;
  /** The tool's question that the user has to answer. */
  question?: { readonly questionId: string; readonly params: object };
}

/** A part of a message. `step-start` precedes each answer of the model. */
export type Part = { readonly type: 'step-start' } | TextPart | CallPart;

/** A message of a chat. A turn has two: the user's, and the assistant's with all its steps. */
export interface ChatMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly parts: Part[];
  /** `page` is the console page that the user saw. */
  readonly metadata: { readonly turn: number; readonly createdAt: string; readonly page?: object };
}

type Parts = Pick<ChatMessage, 'parts'>;

export const isCall = (part: Part): part is CallPart => part.type === 'dynamic-tool';
export const callsIn = ({ parts }: Parts): CallPart[] => parts.filter(isCall);
export const awaitsApproval = ({ state }: CallPart): boolean => state === 'approval-requested';
/** Whether a call has not run yet, and needs no approval or has one. */
export const mayRun = ({ state, approval }: CallPart): boolean =>
  state === 'input-available' || (state === 'approval-responded' && approval?.approved === true);

/** One chunk of the AI SDK's UI message stream. */
export type Chunk = Readonly<Record<string, unknown>> & { readonly type: string };

/** The state of a part as a reader knows it. */
type KnownPart = {
  /** Characters of a text. */
  length?: number;
  state?: string;
  approvalId?: string | undefined;
  questionId?: string | undefined;
};

/**
 * Computes the chunks for one reader: the difference between the parts sent so far and the present message. A reader
 * that is late, slow, or at another server gets the same content in larger chunks.
 */
export class MessageReader {
  private readonly known: KnownPart[] = [];

  *newChunks({ parts }: Parts): Generator<Chunk> {
    for (const [index, part] of parts.entries()) {
      const known = this.known[index];
      if (part.type === 'text') yield* textChunks(`text-${index}`, part, known);
      else if (isCall(part)) yield* callChunks(part, known);
      else if (!known) yield* index === 0 ? [stepStart] : [stepEnd, stepStart];
      this.known[index] = knownPartOf(part);
    }
  }
}

function knownPartOf(part: Part): KnownPart {
  if (part.type === 'text') return { length: part.text.length, state: part.state };
  if (!isCall(part)) return {};
  return { state: part.state, approvalId: part.approval?.id, questionId: part.question?.questionId };
}

/** The first and the last chunk of one answer of the model. */
const stepStart: Chunk = { type: 'start-step' };
export const stepEnd: Chunk = { type: 'finish-step' };

function* textChunks(id: string, { text, state }: TextPart, known?: KnownPart): Generator<Chunk> {
  const length = known?.length ?? 0;
  if (!known) yield { type: 'text-start', id };
  if (text.length > length) yield { type: 'text-delta', id, delta: text.slice(length) };
  if (state === 'done' && known?.state !== 'done') yield { type: 'text-end', id };
}

function* callChunks(part: CallPart, known?: KnownPart): Generator<Chunk> {
  const { toolCallId, toolName, input, state, approval, output, errorText } = part;
  if (!known) yield { type: 'tool-input-available', toolCallId, toolName, input, dynamic: true };
  if (part.question?.questionId !== known?.questionId)
    yield { type: 'data-question', id: toolCallId, data: part.question ?? {}, transient: true };
  if (state === known?.state) return;
  // An approval is requested again if the tool has changed since.
  if (approval && approval.id !== known?.approvalId)
    yield { type: 'tool-approval-request', approvalId: approval.id, toolCallId };
  if (approval?.approved !== undefined && (!known || known.state === 'approval-requested'))
    yield { type: 'tool-approval-response', approvalId: approval.id, approved: approval.approved };
  if (state === 'output-available')
    yield { type: 'tool-output-available', toolCallId, output, dynamic: true };
  if (state === 'output-error') yield { type: 'tool-output-error', toolCallId, errorText, dynamic: true };
  if (state === 'output-denied') yield { type: 'tool-output-denied', toolCallId };
}
