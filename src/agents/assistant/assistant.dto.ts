import {
  Moment,
  uuid,
  OptionalObject,
  Example,
  OneOfThese,
  Flag,
  Limit,
  NullableText,
  OptionalText,
  PageOf,
  ProjectQuery,
  Text,
} from '../../web/rest/dto.js';
import { ApiProperty } from '@nestjs/swagger';
import type { ChatMessage } from './chat-message.js';

const chatStates = ['idle', 'running', 'waiting', 'failed', 'stopped', 'interrupted'] as const;
/** The state of a chat's last turn. */
export type ChatState = (typeof chatStates)[number];

const id = '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f';
const Count = (example: number, description?: string): PropertyDecorator =>
  ApiProperty({ type: 'integer', example, ...(description !== undefined && { description }) });
const time = '2026-01-15T09:30:00.000Z';

export class ChatParams {
  @Text(36, { pattern: uuid, example: id }) readonly id!: string;
}

export class ApprovalParams extends ChatParams {
  @Text(64, { example: 't001s0201' }) readonly callId!: string;
}

export class ListChatsQuery extends ProjectQuery {
  @Limit(100) readonly limit!: number;
}

const page = { screen: 'trace', url: '/traces/4bf92f3577b34da6a3ce929d0e0e4736' };

/** A message of the user, with which a turn begins. */
export class TurnBody {
  @Text(20_000, { example: 'Why did this trace fail?' }) readonly message!: string;
  @OptionalText(128, { description: 'The tab of the console that tools act on; absent: no tab' })
  readonly uiSession?: string;
  @OptionalObject(page, 'The page that the person sees, as data for the model') readonly page?: object;
  @OptionalText(36, {
    pattern: uuid,
    description: 'Id of an earlier message of yours to replace; it and all later ones are deleted',
  })
  readonly insteadOf?: string;
}

export class ApprovalBody {
  @Flag({ example: true }) readonly approve!: boolean;
  @OptionalText(128, { description: 'Id from the stream; that of another call is refused' })
  readonly approvalId?: string;
}

/** Sums over all turns of a chat. */
export class ChatUsageView {
  @Count(4, 'Questions to the model') readonly steps!: number;
  @Count(3, 'Calls of tools') readonly calls!: number;
  @Count(8_412) readonly inputTokens!: number;
  @Count(640) readonly outputTokens!: number;
  @ApiProperty({ type: Number, nullable: true, example: 0.021, description: 'US dollars; null if unknown' })
  readonly cost!: number | null;
}

/** Limits of a chat and of its turns. */
export class ChatLimitsView {
  @Count(20) readonly stepsPerTurn!: number;
  @Count(60) readonly callsPerTurn!: number;
  @Count(1_000_000, 'Of a chat; 0: no limit') readonly tokens!: number;
  @Example(5, 'US dollars of a chat; 0: no limit') readonly cost!: number;
}

/** A chat without its messages. */
export class ListedChatView {
  @Example(id) readonly id!: string;
  @Example('Why did this trace fail?') readonly title!: string;
  @OneOfThese(
    chatStates,
    'idle',
    '`waiting`: for an approval. `failed`, `stopped`, `interrupted`: the turn can be retried',
  )
  readonly state!: ChatState;
  @NullableText(null, 'Why the last turn failed or was interrupted') readonly error!: string | null;
  @ApiProperty({ type: ChatUsageView }) readonly usage!: ChatUsageView;
  @Moment(time) readonly createdAt!: Date;
  @Moment(time) readonly updatedAt!: Date;
}

export class ChatPageView extends PageOf(ListedChatView) {
  @NullableText('gpt-4.1', 'The language model; null if none is configured') readonly model!: string | null;
}

export class ChatView extends ListedChatView {
  @Example(`assistant-${id}`, 'Investigation of its calls') readonly investigationId!: string;
  @ApiProperty({ type: ChatLimitsView }) readonly limits!: ChatLimitsView;
  @ApiProperty({
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    description: "UI messages of the AI SDK; the `output` of a call is the tool's outcome",
    example: [{ id, role: 'user', parts: [{ type: 'text', text: 'Why?' }], metadata: { turn: 1 } }],
  })
  readonly messages!: readonly ChatMessage[];
}
