import { Injectable } from '@nestjs/common';
import { Problem } from '../../common/errors.js';
import { DtoPipe } from '../../common/dto.pipe.js';
import { type BundleFiles, filesIn } from '../bundles/bundle-files.js';
import { BundleFolders } from '../bundles/bundle-folders.js';
import { Bundles, type Upload } from '../bundles/bundles.js';
import type { StoredBundle } from '../bundles/bundles.repository.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolsRepository } from '../entity/custom-tools.repository.js';
import { ToolRevisionsRepository } from '../entity/tool-revisions.repository.js';
import { wrong } from '../entity/wrong-field.js';
import { CustomToolManager } from './custom-tool-manager.js';
import { CustomToolCreate, type CustomToolUpdate } from './custom-tools.shapes.js';
import { manifestIn } from './tool-manifest.js';

interface TakenTool {
  readonly hash: string;
  readonly create: CustomToolCreate;
}

interface TakenChange {
  readonly hash: string;
  readonly changes: CustomToolUpdate;
}

/** Registers and changes tools by the files that they bring along. */
@Injectable()
export class BundleRegistration {
  private readonly dtos = new DtoPipe();

  constructor(
    private readonly bundles: Bundles,
    private readonly folders: BundleFolders,
    private readonly repository: CustomToolsRepository,
    private readonly revisions: ToolRevisionsRepository,
    private readonly manager: CustomToolManager,
  ) {}

  /** @throws Problem `conflict` where the name is taken, and whatever is wrong with the bundle or its tool */
  async register(name: string, upload: Upload, by: string): Promise<CustomTool> {
    if (await this.repository.find(name)) throw new Problem('conflict', `The tool name ${name} is taken`);
    const { hash, create } = await this.take(name, upload);
    return this.manager.register(create, { source: 'bundle', by }, hash);
  }

  /** Members that its tool.json does not name stay as they are, variables that were set meanwhile included. */
  async replace(name: string, upload: Upload, by: string): Promise<CustomTool> {
    const { hash, changes } = await this.takeFor(await this.repository.get(name), upload);
    return this.manager.update(name, changes, { source: 'bundle', by }, hash);
  }

  /** Keeps the files, and reads what they would make: a tool, or a change of the one that has the name. */
  async attempt(name: string, upload: Upload): Promise<TakenTool | TakenChange> {
    const tool = await this.repository.find(name);
    return tool ? this.takeFor(tool, upload) : this.take(name, upload);
  }

  /** The bundle that a tool runs. @throws Problem `not_found` */
  async get(name: string): Promise<StoredBundle> {
    return this.stored(name, (await this.repository.get(name)).bundle);
  }

  private async stored(name: string, bundle: string | null): Promise<StoredBundle> {
    if (bundle === null)
      throw new Problem('not_found', `${name} brought no bundle: its files stand elsewhere`);
    return this.bundles.get(bundle);
  }

  /** The files that a tool brought, or had brought in a revision of it. @throws Problem `not_found` */
  async files(name: string, revision?: number): Promise<BundleFiles> {
    const tool = await this.repository.get(name);
    const { bundle = null } =
      revision === undefined ? tool : (await this.revisions.get(tool, revision)).configuration;
    const stored = await this.stored(name, bundle);
    return filesIn(await this.folders.folderOf(stored.hash, false), stored);
  }

  private async takeFor({ name, protocol }: CustomTool, upload: Upload): Promise<TakenChange> {
    const { hash, create } = await this.take(name, upload);
    const { name: _stays, protocol: its = 'jsonrpc', ...changes } = create;
    if (its !== protocol) throw wrong('/protocol', `stays ${protocol}: unregister the tool to change it`);
    return { hash, changes };
  }

  /** Keeps the files, for as long as what nothing registered names, and reads the registration among them. */
  private async take(name: string, upload: Upload): Promise<TakenTool> {
    const { hash, manifest } = await this.bundles.take(upload);
    const create = await this.dtos.read(CustomToolCreate, { name, ...withoutOwnPlace(manifestIn(manifest)) });
    if (create.name !== name) throw wrong('/name', `in tool.json is ${create.name}, and ${name} in the path`);
    return { hash, create };
  }
}

/** The folder of the bundle, as a tool.json may name it. */
function withoutOwnPlace({ workingDir, ...manifest }: { readonly workingDir?: unknown }): object {
  return workingDir === '.' || workingDir === './'
    ? manifest
    : { ...manifest, ...(workingDir !== undefined && { workingDir }) };
}
