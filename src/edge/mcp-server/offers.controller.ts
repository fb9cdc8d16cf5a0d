import { Body, Get, HttpCode, Param, Post, Query, Req } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../../base/common/errors.js';
import { OutcomeView, runProblems } from '../../call/door/tools.dto.js';
import { ApiRoutes } from '../../web/auth/scopes.decorator.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import { AnyObject, Cursor, Example, Limit, OptionalFlag, PageOf, Text } from '../../web/rest/dto.js';
import { McpCatalogue } from './mcp-catalogue.js';

class OffersQuery {
  @Limit(100) readonly limit!: number;
  @Cursor() readonly cursor?: string;
}

class ResourcesQuery extends OffersQuery {
  @OptionalFlag({ example: true, description: 'List templates of URIs instead' })
  readonly templates?: boolean;
}

class UriQuery {
  @Text(8_192, { example: 'file:///srv/notes.md' }) readonly uri!: string;
}

class PromptBody {
  @AnyObject({ required: false, example: { who: 'Ada' }, description: 'Texts by name' })
  readonly arguments?: object;
}

/** A resource, template or prompt in a list. */
class OfferView {
  @Example('files') readonly server!: string;
  @AnyObject({ example: { uri: 'file:///srv/notes.md', name: 'notes' }, description: 'As MCP lists it' })
  readonly item!: object;
}

class OfferPageView extends PageOf(OfferView) {}

/** Resources and prompts of MCP servers. Reads and filled prompts are answered like calls of tools. */
@ApiRoutes('api/v1', 'tools', 'tools:call')
@ApiExtraModels(OutcomeView)
export class OffersController {
  constructor(private readonly catalogue: McpCatalogue) {}

  @Get('resources')
  @ApiOperation({
    summary: 'List the resources of MCP servers, or their templates',
    description: 'Of the servers whose tools the caller may call.',
  })
  @ApiOkResponse({ type: OfferPageView })
  listResources(
    @Query() { templates = false, ...query }: ResourcesQuery,
    @Req() request: FastifyRequest,
  ): Promise<OfferPageView> {
    return this.catalogue.page(templates ? 'templates' : 'resources', query, request);
  }

  @Get('resources/read')
  @ApiOperation({
    summary: 'Read a resource of an MCP server',
    description:
      'A listed one, one that a template describes, or one that a tool linked for the project. `result` is that of MCP: `contents` with `text` or `blob`.',
  })
  @ApiOkResponse({ type: OutcomeView })
  @ApiProblems('not_found', ...runProblems)
  async readResource(@Query() { uri }: UriQuery, @Req() request: FastifyRequest): Promise<ToolOutcome> {
    return orNotFound(await this.catalogue.read(uri, request), `resource ${uri}`);
  }

  @Get('prompts')
  @ApiOperation({ summary: 'List the prompts of MCP servers' })
  @ApiOkResponse({ type: OfferPageView })
  listPrompts(@Query() query: OffersQuery, @Req() request: FastifyRequest): Promise<OfferPageView> {
    return this.catalogue.page('prompts', query, request);
  }

  @Post('prompts/:name')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Get a prompt of an MCP server, with its arguments filled in',
    description: '`result` is that of MCP: `messages`.',
  })
  @ApiParam({ name: 'name', example: 'files__summarise' })
  @ApiOkResponse({ type: OutcomeView })
  @ApiProblems('not_found', ...runProblems)
  async getPrompt(
    @Param('name') name: string,
    @Body() body: PromptBody,
    @Req() request: FastifyRequest,
  ): Promise<ToolOutcome> {
    return orNotFound(await this.catalogue.prompt(name, body.arguments, request), `prompt ${name}`);
  }
}

/** The outcome, if there is one. @throws Problem `not_found` */
function orNotFound(outcome: ToolOutcome | undefined, what: string): ToolOutcome {
  if (outcome) return outcome;
  throw new Problem('not_found', `There is no ${what}`);
}
