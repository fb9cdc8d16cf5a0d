import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { InjectMetric, makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Server } from 'node:net';
import { resolve } from 'node:path';
import type { Counter, Gauge } from 'prom-client';
import type { Problem } from '../../common/errors.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { mcpDialect } from '../../mcp/client/mcp-dialect.js';
import { remoteLauncher, type RemoteLimits } from '../../mcp/client/remote-server.js';
import { Contributors } from '../../observability/contributors.js';
import { portOf } from '../../outbound/addresses.js';
import { type Launcher, launch } from '../../process-pool/launcher.js';
import type { Dialect } from '../../process-pool/pool.types.js';
import { findSpawner, SpawnerClient, type SpawnerEvent } from '../../process-pool/spawner-client.js';
import { StartSlots } from '../../process-pool/start-slots.js';
import { asWrongCommand, notGranted, wrong } from '../../rest/wrong-field.js';
import { withDescendantsEnded } from '../../sandbox/enforcement.js';
import { type Confined, Sandbox, SandboxRefusal } from '../../sandbox/sandbox.js';
import { type EffectiveSandbox, sandboxFields } from '../../sandbox/sandbox.types.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import type { PreparedLaunch } from './launch-preparation.js';

const up = 'toolkeeper_spawner_up';
const waiting = 'toolkeeper_spawner_waiting';
const restarts = 'toolkeeper_spawner_restarts_total';

export const spawnerMetrics = [
  makeGaugeProvider({ name: up, help: '1: processes are started by the spawner; 0: directly' }),
  makeGaugeProvider({ name: waiting, help: 'Starts of processes that the spawner has not answered' }),
  makeCounterProvider({ name: restarts, help: 'Spawners that took the place of one that died' }),
];

const directly =
  'processes of tools are started by the server itself: each start holds up everything else for some milliseconds, ' +
  'and what leaves its process group outlives its tool';

type Restricted = Pick<CustomTool, 'sandbox' | 'permissions'> &
  Partial<Pick<CustomTool, 'workingDir' | 'url'>>;
type Confinable = Restricted & Pick<CustomTool, 'userNumber' | 'protocol'>;

/** A command in its sandbox, and how processes of it are started and spoken to. */
export interface ConfinedLaunch extends Confined {
  readonly launch: Launcher;
  readonly slots: StartSlots;
  /** Of an MCP server; absent: as docs/tools/protocol.md says. */
  readonly dialect?: Dialect;
}

/**
 * Starts the processes of all tools in their sandboxes: by one spawner, or by the server itself if there is none for the
 * platform; and bounds how many there are.
 */
@Injectable()
export class ToolLauncher implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ToolLauncher.name);
  private readonly client: SpawnerClient | undefined;
  private readonly remote: RemoteLimits;
  /** Shared by all that start a process of a tool. */
  private readonly slots: StartSlots;
  /** Sessions with servers elsewhere are no processes: they are not counted. */
  private readonly unbounded = new StartSlots();

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly sandbox: Sandbox,
    contributors: Contributors,
    @InjectMetric(up) up: Gauge,
    @InjectMetric(waiting) waiting: Gauge,
    @InjectMetric(restarts) private readonly restarts: Counter,
    http: HttpAdapterHost,
  ) {
    const { root, customTools } = config;
    const { maxConcurrentStarts: maxUnderWay } = customTools;
    this.remote = {
      maxBytes: customTools.maxOutputBytes,
      linesPerSecond: customTools.outputLinesPerSecond,
      ownPort: () => portOf(http.httpAdapter.getHttpServer() as Server),
    };
    this.slots = new StartSlots(customTools.maxProcesses, maxUnderWay);
    const binary = findSpawner(root);
    if (binary === undefined) return;
    const client = new SpawnerClient({ binary, maxUnderWay });
    this.client = client;
    client.events.subscribe((event) => this.on(event));
    contributors.addSampler(() => {
      const { usable, queued, underWay } = client.stats();
      up.set(Number(usable));
      waiting.set(queued + underWay);
    });
  }

  /** A sandbox that is off, or weaker than it could be, is loud. The spawner starts while this process is still small: that costs a fork, too. */
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
    if (!this.client)
      this.logger.warn(`No spawner for ${process.platform}-${process.arch} in native/bin: ${directly}`);
    this.client?.start();
  }

  /** The pools have ended their processes before; what is left ends now. */
  async onApplicationShutdown(): Promise<void> {
    await this.client?.close();
  }

  /**
   * @returns the confined command; its `dispose` is due when no process of it will be started any more
   * @throws Problem `invalid_request` that names the field which this host cannot enforce
   */
  async confine(tool: Confinable, { spec, place, remote }: PreparedLaunch): Promise<ConfinedLaunch> {
    const dialect = tool.protocol === 'mcp' && { dialect: mcpDialect(rootsOf(tool, spec.cwd)) };
    if (remote) {
      const { unbounded: slots } = this;
      return { command: spec, ...elsewhere, slots, launch: remoteLauncher(remote, this.remote), ...dialect };
    }
    try {
      const confined = await this.sandbox.confine(demandsOf(tool), spec, place, tool.userNumber);
      const { slots, client } = this;
      const effective = this.withSpawner(confined.effective);
      return { ...confined, effective, slots, launch: client?.launch ?? launch, ...dialect };
    } catch (error) {
      throw error instanceof SandboxRefusal ? refusalOf(error, tool) : asWrongCommand(error);
    }
  }

  /** What holds for a tool on this host. */
  effective(tool: Restricted): EffectiveSandbox {
    return tool.url ? elsewhere.effective : this.withSpawner(this.sandbox.effective(demandsOf(tool)));
  }

  /** With a spawner whatever a tool starts ends with it, also what leaves its process group. */
  private withSpawner(effective: EffectiveSandbox): EffectiveSandbox {
    return this.client?.stats().usable === true ? withDescendantsEnded(effective) : effective;
  }

  private on(event: SpawnerEvent): void {
    if (event.type === 'unusable') {
      return this.logger.error(`The spawner cannot work here (${event.why}): ${directly}`);
    }
    const { pid, why, running } = event;
    this.restarts.inc();
    this.logger.error(
      `The spawner (pid ${pid}) ${why}, and ${running} processes of tools with it; another took its place`,
    );
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

/** An MCP server that asks for its roots gets the paths that it was granted. */
function rootsOf({ sandbox, permissions }: Restricted, workingDir: string): string[] {
  const granted = permissions?.canReadFiles === false ? [] : (sandbox?.allowedPaths ?? []);
  return granted.map((path) => resolve(workingDir, path));
}

const permissionFields = ['canReadFiles', 'canWriteFiles', 'canNetwork', 'canExecuteCommands'];

function refusalOf({ field, message, index }: SandboxRefusal, { workingDir }: Confinable): Problem {
  // A tool's own place is its working directory, else that of the program it is started from.
  const own = workingDir ? '/workingDir' : '/command';
  const pointer =
    field === 'own' ? own : `/${permissionFields.includes(field) ? 'permissions' : 'sandbox'}/${field}`;
  return index === undefined ? wrong(pointer, message) : notGranted(`${pointer}/${index}`, message);
}

/** Limits of a process that hold for a trial start as well as in a pool. */
export const processLimits = (
  {
    startTimeoutMs,
    stopGraceMs,
    stderrBytes,
    maxOutputBytes,
    outputLinesPerSecond,
  }: AppConfig['customTools'],
  { dialect }: Pick<ConfinedLaunch, 'dialect'>,
) => ({
  startTimeoutMs,
  stopGraceMs,
  stderrBytes,
  maxLineBytes: maxOutputBytes,
  linesPerSecond: outputLinesPerSecond,
  ...(dialect && { dialect }),
});
