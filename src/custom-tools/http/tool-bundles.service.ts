import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { BundleFiles } from '../bundles/bundle-files.js';
import type { StoredBundle } from '../bundles/bundles.repository.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { BundleRegistration } from '../manager/bundle-registration.js';
import { RunningTools } from '../running/running-tools.js';
import { acceptBundles, uploadIn } from './bundle-body.js';
import { type CustomToolView, customToolView } from './custom-tool.shapes.js';
import type { BundleFilesQuery } from './tool-bundles.shapes.js';

/** Bundles as the REST answers show them. */
@Injectable()
export class ToolBundlesService implements OnModuleInit {
  constructor(
    private readonly registration: BundleRegistration,
    private readonly running: RunningTools,
    private readonly http: HttpAdapterHost,
  ) {}

  onModuleInit(): void {
    acceptBundles(this.http.httpAdapter.getInstance<FastifyInstance>());
  }

  async register(name: string, request: FastifyRequest, by: string): Promise<CustomToolView> {
    return this.view(await this.registration.register(name, uploadIn(request), by));
  }

  async replace(name: string, request: FastifyRequest, by: string): Promise<CustomToolView> {
    return this.view(await this.registration.replace(name, uploadIn(request), by));
  }

  get(name: string): Promise<StoredBundle> {
    return this.registration.get(name);
  }

  files(name: string, { revision }: BundleFilesQuery): Promise<BundleFiles> {
    return this.registration.files(name, revision);
  }

  private view(tool: CustomTool): CustomToolView {
    return customToolView(tool, this.running);
  }
}
