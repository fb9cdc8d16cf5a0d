import {
  applyDecorators,
  Body,
  createParamDecorator,
  Delete,
  type ExecutionContext,
  Get,
  HttpCode,
  Param,
  Post,
  Query,
} from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../../base/common/errors.js';
import { principalOf, projectOf } from '../../web/auth/principal.decorator.js';
import { Scopes } from '../../web/auth/scopes.decorator.js';
import { OfProject } from '../../records/spans/reads/project-routes.decorator.js';
import { Answers, AnswersNothing } from '../../web/rest/answers.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import * as dto from './assistant.dto.js';
import { AssistantService, type ChatCaller } from './assistant.service.js';

/** Injects the caller, who owns the chats. @throws Problem `unauthorized` without a key if keys are required */
const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): ChatCaller => {
  const http = context.switchToHttp();
  const request = http.getRequest<FastifyRequest>();
  const principal = principalOf(request);
  const { keyId, keyless, userId } = principal;
  if (keyless) throw new Problem('unauthorized', 'The assistant needs a key: sign in, or send one');
  const owner = keyId ?? `user:${userId}`;
  return { owner, project: projectOf(request), principal, address: request.ip, reply: http.getResponse() };
});

/** The beginning of a stream, for the API's description. */
const streamExample = [
  'data: {"type":"start","messageId":"019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f"}',
  'data: {"type":"text-start","id":"text-1"}',
  'data: {"type":"text-delta","id":"text-1","delta":"The run failed"}',
  'data: [DONE]',
].join('\n\n');

/** Describes a route that streams a turn until it ends or waits for a person. */
const StreamsTurn = (summary: string, description: string): MethodDecorator =>
  applyDecorators(
    HttpCode(200),
    ApiOperation({ summary, description }),
    ApiOkResponse({
      description: "The turn as the AI SDK's UI message stream",
      content: { 'text/event-stream': { schema: { type: 'string' }, example: streamExample } },
    }),
    ApiProblems('not_found', 'conflict', 'rate_limited', 'shutting_down'),
  );

/** Chats of the caller with the assistant. */
@OfProject('api/v1/assistant/chats', 'assistant')
@Scopes('tools:call')
export class AssistantController {
  constructor(private readonly service: AssistantService) {}

  @Post()
  @ApiOperation({ summary: 'Begin a chat with the assistant', description: 'It belongs to your key.' })
  @ApiCreatedResponse({ type: dto.ChatView })
  @ApiProblems('conflict')
  createChat(@CurrentCaller() caller: ChatCaller): Promise<dto.ChatView> {
    return this.service.create(caller);
  }

  @Get()
  @Answers(
    dto.ChatPageView,
    'List your chats, the last used first',
    'With the name of the model, if there is one.',
  )
  listChats(
    @Query() query: dto.ListChatsQuery,
    @CurrentCaller() caller: ChatCaller,
  ): Promise<dto.ChatPageView> {
    return this.service.list(query, caller);
  }

  @Get(':id')
  @Answers(dto.ChatView, 'Show a chat', 'With all messages, also of a running turn.', 'not_found')
  getChat(@Param() { id }: dto.ChatParams, @CurrentCaller() caller: ChatCaller): Promise<dto.ChatView> {
    return this.service.get(id, caller);
  }

  @Delete(':id')
  @AnswersNothing('Delete a chat', 'Ends a running turn.', 'Chat deleted', 'not_found')
  deleteChat(@Param() { id }: dto.ChatParams, @CurrentCaller() caller: ChatCaller): Promise<void> {
    return this.service.delete(id, caller);
  }

  @Post(':id/turns')
  @StreamsTurn(
    'Send a message, and stream the answer',
    'The turn goes on if the caller leaves. Calls that write or reach other systems wait for an approval; another message denies them.',
  )
  createTurn(
    @Param() { id }: dto.ChatParams,
    @Body() body: dto.TurnBody,
    @CurrentCaller() caller: ChatCaller,
  ) {
    return this.service.createTurn(id, body, caller);
  }

  @Get(':id/stream')
  @StreamsTurn('Stream the running turn from its beginning', 'Also if it runs at another replica.')
  @ApiNoContentResponse({ description: 'No turn runs' })
  followTurn(@Param() { id }: dto.ChatParams, @CurrentCaller() caller: ChatCaller) {
    return this.service.follow(id, caller);
  }

  @Post(':id/approvals/:callId')
  @StreamsTurn('Approve or deny a call', 'For this call and its exact input. Then the turn goes on.')
  approveCall(
    @Param() params: dto.ApprovalParams,
    @Body() body: dto.ApprovalBody,
    @CurrentCaller() caller: ChatCaller,
  ) {
    return this.service.approve(params, body, caller);
  }

  @Post(':id/retry')
  @StreamsTurn('Retry a turn that failed or was stopped', 'Calls that were made are not run again.')
  retryTurn(@Param() { id }: dto.ChatParams, @CurrentCaller() caller: ChatCaller) {
    return this.service.retry(id, caller);
  }

  @Post(':id/stop')
  @HttpCode(200)
  @Answers(dto.ChatView, 'End the turn', 'A call that has begun runs to its end.', 'not_found', 'conflict')
  stopTurn(@Param() { id }: dto.ChatParams, @CurrentCaller() caller: ChatCaller): Promise<dto.ChatView> {
    return this.service.stop(id, caller);
  }
}
