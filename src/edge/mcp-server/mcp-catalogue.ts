import { Injectable } from '@nestjs/common';
import { Problem } from '../../base/common/errors.js';
import { listerOf } from '../../call/door/incoming-call.js';
import { ToolsService } from '../../call/door/tools.service.js';
import { type Asked, done, fresh, metaPrefix, type Methods } from './mcp-methods.js';

/** Some clients read the first page only. */
const toolsOnPage = 500;

/** The lists of what there is. */
@Injectable()
export class McpCatalogue {
  readonly methods: Methods = {
    'tools/list': { handle: async (asked) => done(asked, await this.listTools(asked)) },
  };

  constructor(private readonly tools: ToolsService) {}

  /** @throws Problem `invalid_request` for an invalid cursor */
  private async listTools({ isModern, request, message }: Asked): Promise<object> {
    const { cursor, _meta } = message.params ?? {};
    if (cursor !== undefined && typeof cursor !== 'string')
      throw new Problem('invalid_request', 'cursor must be a string');
    const uiSession = _meta?.[`${metaPrefix}uiSession`];
    const wanted = { format: 'mcp', limit: toolsOnPage, cursor } as const;
    const { data, nextCursor } = await this.tools.list(wanted, listerOf(request, uiSession));
    const page = { tools: data, ...(nextCursor !== null && { nextCursor }) };
    return isModern ? fresh(page) : page;
  }
}
