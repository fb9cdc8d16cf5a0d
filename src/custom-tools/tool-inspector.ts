import { Inject, Injectable } from '@nestjs/common';
import { canonicalJson } from '../common/canonical-json.js';
import { Problem } from '../common/errors.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { probeExecutable } from '../process-pool/handshake.js';
import { type Handshake, PoolFailure } from '../process-pool/pool.types.js';
import { compileInputSchema, type InputValidator } from '../tools/input-validator.js';
import type { CustomTool } from './custom-tool.entity.js';
import { wrong } from './launch-spec.js';
import { type LaunchableTool, ToolLauncher } from './tool-launcher.js';

export interface Inspection {
  readonly handshake: Handshake;
}

/** Finds out whether an executable is a tool, by starting it once and asking. */
@Injectable()
export class ToolInspector {
  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly launcher: ToolLauncher,
  ) {}

  /** @throws Problem `invalid_request` with the reason, the executable's stderr included */
  async inspect(tool: LaunchableTool): Promise<Inspection> {
    const prepared = await this.launcher.prepare(tool);
    const { startTimeoutMs, stopGraceMs, maxOutputBytes, stderrBytes } = this.config.customTools;
    try {
      const limits = { startTimeoutMs, stopGraceMs, maxLineBytes: maxOutputBytes, stderrBytes };
      return { handshake: await probeExecutable(prepared.command, limits) };
    } catch (error) {
      if (!(error instanceof PoolFailure)) throw error;
      const stderr = error.notes.stderrTail?.trim();
      throw wrong(
        '/command',
        `is not a tool: ${error.message}${stderr ? `; its stderr ends with: ${stderr}` : ''}`,
      );
    } finally {
      await prepared.dispose();
    }
  }

  compile(schema: unknown): InputValidator {
    return compileInputSchema(schema, this.config.customTools);
  }

  /** @returns every way in which the registered tool and its executable disagree */
  async mismatches(tool: CustomTool): Promise<string[]> {
    try {
      this.compile(tool.inputSchema);
      const { handshake } = await this.inspect(tool);
      return differences(tool, handshake);
    } catch (error) {
      if (error instanceof Problem) return [error.detail];
      throw error;
    }
  }
}

function differences(tool: CustomTool, handshake: Handshake): string[] {
  const fields = ['name', 'description', 'version', 'inputSchema'] as const;
  return fields.flatMap((field) => {
    const theirs = handshake[field];
    if (theirs === undefined) return [`${field}: the executable does not say its own in initialize`];
    if (canonicalJson(theirs) === canonicalJson(tool[field])) return [];
    return [`${field}: registered as ${shorten(tool[field])}, the executable says ${shorten(theirs)}`];
  });
}

function shorten(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
