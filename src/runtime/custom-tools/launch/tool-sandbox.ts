import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Problem } from '../../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { ToolSpawner } from '../../process-pool/tool-spawner.js';
import { withDescendantsEnded } from '../../sandbox/enforcement.js';
import { type Confined, Sandbox, SandboxRefusal } from '../../sandbox/sandbox.js';
import { type EffectiveSandbox, sandboxFields } from '../../sandbox/sandbox.types.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { wrong } from '../../../web/rest/wrong-field.js';
import { asWrongCommand, notGranted, type PreparedLaunch } from './launch-preparation.js';

type Restricted = Pick<CustomTool, 'sandbox' | 'permissions'> &
  Partial<Pick<CustomTool, 'workingDir' | 'url'>>;
type Confinable = Restricted & Pick<CustomTool, 'userNumber'>;

/** Puts the start of a tool's processes into its sandbox. */
@Injectable()
export class ToolSandbox implements OnApplicationBootstrap {
  private readonly logger = new Logger(ToolSandbox.name);

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'dataDir'>,
    private readonly sandbox: Sandbox,
    private readonly spawner: ToolSpawner,
  ) {}

  /** A sandbox that is off, or weaker than it could be, is loud. */
  onApplicationBootstrap(): void {
    const { enabled, tier, missing, keysAreRead } = this.sandbox.status;
    if (!enabled) this.logger.warn('SANDBOX=off: TOOLS RUN WITHOUT A SANDBOX');
    else if (tier === 0) this.logger.warn({ missing }, 'this host has no sandbox: TOOLS RUN WITHOUT ONE');
    if (keysAreRead) this.logger.warn(`TOOLS CAN READ THE ADMIN KEY and all else in ${this.config.dataDir}`);
    if (enabled && tier > 0 && tier < 3)
      this.logger.warn({ missing }, `the sandbox is of tier ${tier} of 3 (docs/operate/sandbox.md)`);
    if (tier === 3) this.logger.log('the sandbox is of tier 3 of 3');
    if (missing.toolUsers !== undefined) {
      this.logger.error(
        `NO TOOL RUNS: this server is root and cannot start one as another user: ${missing.toolUsers}`,
      );
    }
  }

  /**
   * @returns the confined command; its `dispose` is due when no process of it will be started any more
   * @throws Problem `invalid_request` that names the field which this host cannot enforce
   */
  async confine(tool: Confinable, { spec, place, remote }: PreparedLaunch): Promise<Confined> {
    if (remote) return { command: spec, ...elsewhere };
    try {
      const confined = await this.sandbox.confine(demandsOf(tool), spec, place, tool.userNumber);
      return { ...confined, effective: this.withSpawner(confined.effective) };
    } catch (error) {
      if (!(error instanceof SandboxRefusal)) throw asWrongCommand(error);
      throw refusalOf(error, tool);
    }
  }

  /** Restrictions that hold for a tool on this host. */
  effective(tool: Restricted): EffectiveSandbox {
    if (tool.url) return elsewhere.effective;
    return this.withSpawner(this.sandbox.effective(demandsOf(tool)));
  }

  private withSpawner(effective: EffectiveSandbox): EffectiveSandbox {
    return this.spawner.endsDescendants ? withDescendantsEnded(effective) : effective;
  }
}

/** A server behind a URL: nothing of it runs here. */
const elsewhere: Omit<Confined, 'command'> = {
  effective: {
    tier: 0,
    enforced: [],
    notEnforced: sandboxFields,
    notes: { otherProcesses: 'It runs elsewhere: only the time and the size of its answers are bounded' },
  },
  ended: () => undefined,
  brokenRule: () => undefined,
  hint: () => undefined,
  dispose: () => Promise.resolve(),
};

const demandsOf = ({ sandbox, permissions }: Restricted) => ({ ...sandbox, ...permissions });

const permissionFields = ['canReadFiles', 'canWriteFiles', 'canNetwork', 'canExecuteCommands'];

function refusalOf({ field, message, index }: SandboxRefusal, { workingDir }: Confinable): Problem {
  // A tool's own place is its working directory, else that of the program it is started from.
  const own = workingDir ? '/workingDir' : '/command';
  const member = `/${permissionFields.includes(field) ? 'permissions' : 'sandbox'}/${field}`;
  const pointer = field === 'own' ? own : member;
  return index === undefined ? wrong(pointer, message) : notGranted(`${pointer}/${index}`, message);
}
