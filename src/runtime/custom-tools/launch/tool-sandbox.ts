import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Problem } from '../../../base/common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { notGranted, wrong } from '../../../web/rest/wrong-field.js';
import { ToolSpawner } from '../../process-pool/process-pool.module.js';
import { accessLines, withDescendantsEnded } from '../../sandbox/enforcement.js';
import { SandboxRefusal } from '../../sandbox/path-access.js';
import { type Confined, Sandbox } from '../../sandbox/sandbox.js';
import { type EffectiveSandbox, sandboxFields } from '../../sandbox/sandbox.types.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import type { PreparedLaunch } from './launch-preparation.js';
import { throwAsProblem } from './program-files.js';

/** The columns of a tool that decide about its restrictions. */
type Restricted = Pick<CustomTool, 'sandbox' | 'permissions'> &
  Partial<Pick<CustomTool, 'workingDir' | 'url' | 'env' | 'timeoutMs'>>;
type Confinable = Restricted & Pick<CustomTool, 'userNumber'>;

/** Applies a tool's settings to the sandbox of its processes. */
@Injectable()
export class ToolSandbox implements OnApplicationBootstrap {
  private readonly logger = new Logger(ToolSandbox.name);

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'customTools' | 'dataDir'>,
    private readonly sandbox: Sandbox,
    private readonly spawner: ToolSpawner,
  ) {}

  /** Warns about a sandbox that is off or weaker than tier 3. */
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
   * Confines the start of a tool's processes.
   * @returns the confined command; call its `dispose` when no more processes of it will start
   * @throws Problem `invalid_request` that names the field which this host cannot enforce
   */
  async confine(tool: Confinable, { spec, ownPath, remote }: PreparedLaunch): Promise<Confined> {
    if (remote) return { command: spec, ...remoteConfinement, effective: this.effective(tool) };
    try {
      const confined = await this.sandbox.confine(demandsOf(tool), spec, ownPath, tool.userNumber);
      return { ...confined, effective: this.describe(tool, confined.effective, ownPath, spec.env) };
    } catch (error) {
      if (!(error instanceof SandboxRefusal)) return throwAsProblem(error);
      throw refusalOf(error, tool);
    }
  }

  /** The restrictions that hold for a tool on this host, whether it runs or not. */
  effective(tool: Restricted): EffectiveSandbox {
    const enforced = tool.url ? remoteConfinement.effective : this.sandbox.effective(demandsOf(tool));
    return this.describe(tool, enforced);
  }

  /** Adds to the enforced restrictions a text of all that the tool may use. */
  private describe(
    tool: Restricted,
    enforced: EffectiveSandbox,
    ownPath = tool.workingDir ?? undefined,
    env: object = tool.env ?? {},
  ): EffectiveSandbox {
    const { url, timeoutMs = Infinity, sandbox } = tool;
    const effective = !url && this.spawner.endsDescendants ? withDescendantsEnded(enforced) : enforced;
    const facts = {
      ownPath,
      url: url ?? undefined,
      variables: Object.keys(env),
      timeoutMs: Math.min(timeoutMs, sandbox?.maxExecutionMs ?? Infinity),
      maxOutputBytes: this.config.customTools.maxOutputBytes,
    };
    const policy = this.sandbox.policyOf(demandsOf(tool));
    return { ...effective, mayTouch: accessLines(policy, effective, facts) };
  }
}

/** Confinement of a server behind a URL, which runs elsewhere. */
const remoteConfinement: Omit<Confined, 'command'> = {
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

/** The settings of a tool that the sandbox reads. */
const demandsOf = ({ sandbox, permissions }: Restricted) => ({ ...sandbox, ...permissions });

/** Fields of `permissions`; all others are fields of `sandbox`. */
const permissionFields = ['canReadFiles', 'canWriteFiles', 'canNetwork', 'canExecuteCommands'];

/** The problem of a tool that the sandbox refuses, with a pointer to the member that is the cause. */
function refusalOf({ field, message, index }: SandboxRefusal, { workingDir }: Confinable): Problem {
  const ownPath = workingDir ? '/workingDir' : '/command';
  const member = `/${permissionFields.includes(field) ? 'permissions' : 'sandbox'}/${field}`;
  const pointer = field === 'own' ? ownPath : member;
  return index === undefined ? wrong(pointer, message) : notGranted(`${pointer}/${index}`, message);
}
