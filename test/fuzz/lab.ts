import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Answer, Gateway } from '../chaos/gateway.js';
import { fixtures } from '../support/app.js';
import { makeTestFolder } from '../support/test-folder.js';

/** A time in which the event loop of the gateway stood still; `ms` of its own processor time. */
export interface Block {
  readonly endedAt: number;
  readonly ms: number;
}

/** A real gateway that tells when its event loop stood still, and tools that take whatever schema and input they are given. */
export class Lab {
  private readonly folder = makeTestFolder();
  private readonly blocksFile = join(this.folder, 'blocks');
  readonly gateway: Gateway;

  constructor(variables: Record<string, string> = {}) {
    const probes = ['test/chaos/memory-probe.mjs', 'test/fuzz/loop-probe.mjs'];
    const imports = probes.map((probe) => `--import=${pathToFileURL(join(process.cwd(), probe)).href}`);
    this.gateway = new Gateway(this.folder, this.folder, {
      CUSTOM_TOOLS_ALLOWED_ROOTS: '',
      LOOP_PROBE: this.blocksFile,
      NODE_OPTIONS: imports.join(' '),
      ...variables,
    });
  }

  async start(): Promise<void> {
    await this.gateway.start();
  }

  async end(): Promise<void> {
    await this.gateway.end('SIGTERM');
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A tool that answers each call with its input. @returns the answer to its registration */
  register(name: string, inputSchema: unknown): Promise<Answer> {
    const command = { command: 'python3', args: ['-I', '-S', join(fixtures, 'echo.py')] };
    const tool = { name, ...command, description: name, keepAlive: true, inputSchema };
    return this.gateway.request('POST', 'custom-tools', tool, 60_000);
  }

  remove(name: string): Promise<Answer> {
    return this.gateway.request('DELETE', `custom-tools/${name}`);
  }

  call(name: string, input: unknown): Promise<Answer> {
    return this.gateway.request('POST', `tools/${name}/execute`, { input }, 60_000);
  }

  /** Times in which the loop stood still since then, once the loop has turned again. */
  async blocksSince(time: number): Promise<Block[]> {
    await this.gateway.request('GET', 'tools/none');
    // The probe tells of a block with the timer that was late; that is as late as the answer, or a moment later.
    await this.gateway.request('GET', 'tools/none');
    return this.blocks().filter(({ endedAt }) => endedAt >= time);
  }

  blocks(): Block[] {
    if (!existsSync(this.blocksFile)) return [];
    const lines = readFileSync(this.blocksFile, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Block);
  }
}
