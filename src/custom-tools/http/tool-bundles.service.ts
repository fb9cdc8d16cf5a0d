import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../../common/errors.js';
import type { Upload } from '../bundles/bundles.js';
import type { StoredBundle } from '../bundles/bundles.repository.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { BundleRegistration } from '../manager/bundle-registration.js';
import { RunningTools } from '../running/running-tools.js';
import { acceptBundles, bundleTypes } from './bundle-body.js';
import { type CustomToolView, customToolView } from './custom-tool.shapes.js';

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

  private view(tool: CustomTool): CustomToolView {
    return customToolView(tool, this.running.effective(tool));
  }
}

/** @throws Problem `invalid_request` where the body is something else: then it has been read */
function uploadIn({ headers, raw }: FastifyRequest): Upload {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
  const length = headers['content-length'];
  const bytes = length === undefined ? undefined : Number(length);
  if ((bundleTypes as readonly string[]).includes(type)) return { body: raw, bytes };
  throw new Problem('invalid_request', `This route takes a gzipped tar (${bundleTypes[0]})`, { status: 415 });
}
