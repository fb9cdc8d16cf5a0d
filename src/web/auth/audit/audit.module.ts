import { Get, Global, Module, Query } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { AuditLog } from './audit-log.js';
import type { Page } from '../../rest/page.js';
import { ApiRoutes } from '../scopes.decorator.js';
import { Csv } from '../../rest/csv.interceptor.js';
import { AuditEntryView, AuditPageView, AuditQuery } from './audit.dto.js';

/** The route that lists the audit log. */
@ApiRoutes('api/v1/audit', 'keys', 'audit:read')
export class AuditController {
  constructor(private readonly log: AuditLog) {}

  @Get()
  @ApiOperation({
    summary: 'List what was done with the rights of an administrator, newest first',
    description:
      'One entry for each request to a route that changes something and needs `tools:admin`, `playbooks:write` or `admin`, also where it failed; and for each read of captured payloads and of what spans carried by a key with `tools:admin`; and for each sign-in, sign-out and end of a session by its OpenID provider. One that was refused for want of the scope did nothing, and has none.',
  })
  @ApiOkResponse({ type: AuditPageView })
  @Csv(AuditEntryView)
  listAuditEntries(@Query() query: AuditQuery): Promise<Page<AuditEntryView>> {
    return this.log.list(query);
  }
}

/** The record of administrative acts. Global, because `@Scopes` binds its interceptor to routes of all modules. */
@Global()
@Module({
  // TypeORM closes its connections after the modules that import it, so that the last acts can be stored.
  imports: [TypeOrmModule.forFeature([])],
  controllers: [AuditController],
  providers: [AuditLog],
  exports: [AuditLog],
})
export class AuditModule {}
