import { Body, Get, HttpCode, Post, Put } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { ApiProblems } from '../../rest/api-problems.decorator.js';
import { Audited } from '../audit/audit.interceptor.js';
import { ApiRoutes } from '../scopes.decorator.js';
import { AccessRules, CheckedTokenView, TokenBody } from './access-rules.dto.js';
import { AccessRulesService } from './access-rules.service.js';

/** Routes of the access rules, which give rights to access tokens. */
@ApiRoutes('api/v1/access-rules', 'keys', 'admin')
@Audited('rules', (modules) => modules.get(AccessRulesService, { strict: false }).list())
export class AccessRulesController {
  constructor(private readonly service: AccessRulesService) {}

  @Get()
  @ApiOperation({
    summary: 'List the rules that give rights to access tokens',
    description: 'In the order in which they are evaluated.',
  })
  @ApiOkResponse({ type: AccessRules })
  listAccessRules(): Promise<AccessRules> {
    return this.service.list();
  }

  @Put()
  @ApiOperation({
    summary: 'Replace the rules that give rights to access tokens',
    description:
      'The first rule that matches sets the limits, rules of the same role and tools add their projects, and rules whose limits include those add their roles. No match: no rights. Every replica obeys within a second.',
  })
  @ApiOkResponse({ type: AccessRules })
  @ApiProblems('conflict')
  replaceAccessRules(@Body() body: AccessRules): Promise<AccessRules> {
    return this.service.replace(body);
  }

  @Post('test')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Show what an access token opens',
    description:
      'Each check of the token, and each rule with why it matches or not. The token is neither stored nor logged.',
  })
  @ApiOkResponse({ type: CheckedTokenView })
  @ApiProblems('conflict')
  testAccessToken(@Body() { token }: TokenBody): Promise<CheckedTokenView> {
    return this.service.test(token);
  }
}
