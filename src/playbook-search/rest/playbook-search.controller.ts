import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import { Scopes } from '../../auth/scopes.decorator.js';
import { ApiProblems } from '../../common/api-problems.decorator.js';
import { PlaybookAnswerView, SearchPlaybooksQuery } from './playbook-search.shapes.js';
import { type AuthorsQuery, PlaybookSearchService } from './playbook-search.service.js';
import { SearchQuery } from './search-query.decorator.js';

/** The route of a search, beside those of the catalogue. */
@ApiTags('playbooks')
@Scopes('tools:call')
@ApiProblems('invalid_request', 'database_unavailable', 'unauthorized', 'forbidden')
@Controller('api/v1/playbooks')
export class PlaybookSearchController {
  constructor(private readonly finder: PlaybookSearchService) {}

  @Get('search')
  @ApiOperation({
    summary: 'Find playbooks for an incident',
    description:
      'Labels filter before ranking: a playbook that carries another value of an asked key is never shown. With ' +
      '`explain=true` the answer also says what kept each playbook out, or how its confidence came about.',
  })
  @ApiQuery({ type: SearchPlaybooksQuery })
  @ApiQuery({
    name: 'label',
    required: false,
    description:
      'What the situation demands, as `label.<key>=<value>`, for example `label.environment=production`',
    style: 'form',
    explode: true,
    // In the schema: Swagger UI fills the field with it, and with made-up names without it.
    schema: {
      type: 'object',
      additionalProperties: { type: 'string' },
      example: { 'label.environment': 'production' },
    },
  })
  @ApiOkResponse({ type: PlaybookAnswerView })
  searchPlaybooks(@SearchQuery() query: AuthorsQuery): Promise<object> {
    return this.finder.search(query);
  }
}
