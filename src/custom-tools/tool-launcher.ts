import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { type Confined, Sandbox, SandboxRefusal } from '../sandbox/sandbox.js';
import type { SandboxDemands } from '../sandbox/sandbox-policy.js';
import type { EffectiveSandbox } from '../sandbox/sandbox.types.js';
import type { CustomTool } from './custom-tool.entity.js';
import { launchSpec, type LaunchSettings, wrong } from './launch-spec.js';
import { ownPlace } from './own-place.js';
import { ToolPermissions } from './sandbox-settings.js';

/** What a tool's process is started from, as its registration says it. */
export type LaunchableTool = LaunchSettings & Pick<CustomTool, 'sandbox'>;

/** A tool's command in its sandbox; `dispose` when no process of it will be started any more. */
export interface PreparedTool extends Confined {
  /** Where its process runs. */
  readonly workingDir: string;
}

/** From a registration to a command that is ready to be started. */
@Injectable()
export class ToolLauncher {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly sandbox: Sandbox,
  ) {}

  /** @throws Problem `invalid_request` that names the field */
  async prepare(tool: LaunchableTool): Promise<PreparedTool> {
    const place = await ownPlace(tool, this.config.root);
    const spec = await launchSpec({ ...tool, ...place.launch }, this.config.root);
    try {
      const confined = await this.sandbox.confine(demandsOf(tool), spec, place.own);
      return { ...confined, workingDir: spec.cwd };
    } catch (error) {
      if (!(error instanceof SandboxRefusal)) throw error;
      throw wrong(pointerOf(error.field), error.message);
    }
  }

  /** What holds for a tool on this host. */
  effective(tool: Pick<CustomTool, 'sandbox' | 'permissions'>): EffectiveSandbox {
    return this.sandbox.effective(demandsOf(tool));
  }
}

function demandsOf({ sandbox, permissions }: Pick<CustomTool, 'sandbox' | 'permissions'>): SandboxDemands {
  return { ...sandbox, ...permissions };
}

const permissionFields = [
  'canReadFiles',
  'canWriteFiles',
  'canNetwork',
  'canExecuteCommands',
] as const satisfies readonly (keyof ToolPermissions)[];

function pointerOf(field: string): string {
  const isPermission = (permissionFields as readonly string[]).includes(field);
  return `/${isPermission ? 'permissions' : 'sandbox'}/${field}`;
}
