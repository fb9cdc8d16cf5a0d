import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import type { Page } from '../../common/page.js';
import type { ToolOutcome } from '../../tool-contract/tool-outcome.js';
import { ToolsService } from '../../tools/tools.service.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { type CustomToolView, customToolView, type ValidationView } from './custom-tool.shapes.js';
import { CustomToolManager } from '../manager/custom-tool-manager.js';
import { type CustomToolHealth, Reconciler } from '../manager/reconciler.js';
import type {
  CustomToolCreate,
  CustomToolUpdate,
  ListCustomToolsQuery,
} from '../manager/custom-tools.shapes.js';
import { RunningTools } from '../running/running-tools.js';

/** The manager's work as the REST answers show it. */
@Injectable()
export class CustomToolsService {
  constructor(
    private readonly manager: CustomToolManager,
    private readonly reconciler: Reconciler,
    private readonly tools: ToolsService,
    private readonly running: RunningTools,
  ) {}

  async list(query: ListCustomToolsQuery): Promise<Page<CustomToolView>> {
    const { data, nextCursor } = await this.manager.list(query);
    const listed = (tool: CustomTool): CustomToolView => {
      const { metadata: _large, tools: _many, ...view } = this.view(tool);
      return view;
    };
    return { data: data.map(listed), nextCursor };
  }

  async get(name: string): Promise<CustomToolView> {
    return this.view(await this.manager.get(name));
  }

  async register(create: CustomToolCreate, by: string): Promise<CustomToolView> {
    return this.view(await this.manager.register(create, { source: 'register', by }));
  }

  async update(name: string, changes: CustomToolUpdate, by: string): Promise<CustomToolView> {
    return this.view(await this.manager.update(name, changes, { source: 'patch', by }));
  }

  remove(name: string): Promise<void> {
    return this.manager.remove(name);
  }

  async enable(name: string): Promise<CustomToolView> {
    return this.view(await this.manager.enable(name));
  }

  async disable(name: string): Promise<CustomToolView> {
    return this.view(await this.manager.disable(name));
  }

  validate(name: string): Promise<ValidationView> {
    return this.manager.validate(name);
  }

  health(name: string): Promise<CustomToolHealth> {
    return this.reconciler.check(name);
  }

  test(name: string, request: FastifyRequest, reply: FastifyReply): Promise<ToolOutcome | Readable> {
    return this.tools.test((work) => this.manager.withTool(name, work), request, reply);
  }

  private view(tool: CustomTool): CustomToolView {
    return customToolView(tool, this.running);
  }
}
