import { Delete, Get, HttpCode, Param } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { serverToolName } from '../../../call/door/server-tool.js';
import { Problem } from '../../../base/common/errors.js';
import { CurrentPrincipal } from '../../../web/auth/principal.decorator.js';
import { ApiRoutes } from '../../../web/auth/scopes.decorator.js';
import { mayName, type Principal } from '../../../web/contract/principal.js';
import { ApiProblems } from '../../../web/rest/api-problems.decorator.js';
import { RunningTools } from '../running/running-tools.js';
import { Accounts } from '../accounts/accounts.js';
import { AccountsView } from './accounts.dto.js';

/** A caller's own accounts at MCP servers. */
@ApiRoutes('api/v1/accounts', 'tools', 'tools:call')
export class AccountsController {
  constructor(
    private readonly accounts: Accounts,
    private readonly running: RunningTools,
  ) {}

  @Get()
  @ApiOperation({
    summary: "List the caller's own accounts at MCP servers",
    description: 'At servers with `credentials: "user"`. A caller without a key has none.',
  })
  @ApiOkResponse({ type: AccountsView })
  async listAccounts(@CurrentPrincipal() principal: Principal): Promise<AccountsView> {
    const { keyId: user, userId: userName } = principal;
    const rows = user === undefined ? [] : await this.accounts.list(user);
    const own = rows.filter(
      ({ server, status }) => status !== null || mayName(principal, serverToolName(server)),
    );
    const data = own.map(({ serverId: server, ...row }) => ({
      ...row,
      createdAt: row.createdAt?.toISOString() ?? null,
      signInUrl: user === undefined ? null : this.accounts.linkFor({ server, user, userName }),
    }));
    return { data };
  }

  @Delete(':server')
  @HttpCode(204)
  @ApiParam({ name: 'server', example: 'github' })
  @ApiOperation({
    summary: "End the caller's own account at an MCP server",
    description:
      'Its tokens are deleted, and every replica forgets them. Calls are refused until its owner signs in again.',
  })
  @ApiNoContentResponse()
  @ApiProblems('not_found')
  async endAccount(
    @Param('server') server: string,
    @CurrentPrincipal() { keyId: user }: Principal,
  ): Promise<void> {
    if (user === undefined || !(await this.accounts.end(server, user)))
      throw new Problem('not_found', `This caller has no account at ${JSON.stringify(server)}`);
    this.running.dropUser(server, user);
  }
}
