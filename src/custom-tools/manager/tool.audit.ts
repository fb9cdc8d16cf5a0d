import { Injectable } from '@nestjs/common';
import type { AuditedResource, PathParams } from '../../auth/audit/audited.decorator.js';
import { CustomToolsRepository } from '../entity/custom-tools.repository.js';
import { configurationOf, envIdentity } from '../entity/revision-content.js';

/** A custom tool as the audit hashes it: its configuration, without the values of its environment, and whether it is in use. */
@Injectable()
export class ToolAudit implements AuditedResource {
  constructor(private readonly repository: CustomToolsRepository) {}

  made({ name }: { readonly name: string }): PathParams {
    return { name };
  }

  async stateOf({ name = '' }: PathParams): Promise<unknown> {
    const tool = await this.repository.find(name);
    return tool ? [configurationOf(tool), envIdentity(tool.env), tool.status] : undefined;
  }
}
