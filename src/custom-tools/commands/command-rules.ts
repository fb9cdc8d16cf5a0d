import { realpath } from 'node:fs/promises';
import { basename, isAbsolute, resolve, sep } from 'node:path';
import type { AppConfig } from '../../config/app-config.js';
import { wrong } from '../wrong-field.js';
import { familyOf, readArguments } from './interpreter-options.js';

/** An executable that was found, and what it turned out to be. */
export interface FoundCommand {
  /** As registered. */
  readonly command: string;
  readonly args: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** The file itself, links resolved. */
  readonly realPath: string;
  /** The file that the server's own PATH has under the command's name; undefined: none. */
  readonly hostPath: string | undefined;
}

/** Decides what a tool may be started from; every refusal is a Problem `invalid_request` that names the field. */
export class CommandRules {
  constructor(private readonly config: AppConfig['commands']) {}

  /** What can be said before anything is looked up. */
  checkText({ command, workingDir }: { command: string; workingDir: string | null }): void {
    if (command.startsWith('-')) throw wrong('/command', 'must not begin with a dash');
    if (climbs(command)) throw wrong('/command', 'must not hold ".."');
    if (workingDir !== null && climbs(workingDir)) throw wrong('/workingDir', 'must not hold ".."');
  }

  /** @param own the tool's own variables */
  checkVariables(own: Readonly<Record<string, string>>): void {
    const name = Object.keys(own).find((each) => loading.test(each));
    if (name === undefined || this.config.allowedRoots === undefined) return;
    throw wrong(`/env/${name}`, `makes programs load code, which may lie ${outside}`);
  }

  /** @param workingDir absolute; only one that the registration names is asked about */
  async checkWorkingDir(workingDir: string): Promise<void> {
    const real = await realpath(workingDir);
    if (!(await this.isBelowRoots(real))) throw wrong('/workingDir', `leads to ${real}, ${outside}`);
  }

  /** @throws Problem `invalid_request` naming `/command` or the argument */
  async checkCommand(found: FoundCommand): Promise<void> {
    const { command, realPath, hostPath } = found;
    const name = basename(command);
    const listed = this.isListed(name) && realPath === hostPath;
    if (!listed && !(await this.isBelowRoots(realPath))) {
      throw wrong(
        '/command',
        `leads to ${realPath}, which is no interpreter of CUSTOM_TOOLS_INTERPRETERS, ${outside}`,
      );
    }
    const family = familyOf(name) ?? familyOf(basename(realPath));
    if (family !== undefined || this.isListed(name)) await this.checkArguments(family, found);
  }

  private isListed(name: string): boolean {
    const { interpreters } = this.config;
    return (
      interpreters.has(name) ||
      interpreters.has(name.replace(/[\d.]+$/, '')) ||
      interpreters.has(majorOf(name))
    );
  }

  private async checkArguments(
    family: string | undefined,
    { command, args, cwd }: FoundCommand,
  ): Promise<void> {
    const verdict = readArguments(family, args);
    switch (verdict.kind) {
      case 'code':
        if (this.config.allowInlineCode) return;
        throw wrong(
          `/args/${verdict.index}`,
          `gives ${command} code instead of a script: put it into a file, or set CUSTOM_TOOLS_ALLOW_INLINE_CODE=true`,
        );
      case 'none':
        if (this.config.allowInlineCode) return;
        throw wrong('/args', `names no script: ${command} would take what callers send for its program`);
      case 'module':
        if (this.config.allowedRoots === undefined) return;
        throw wrong(`/args/${verdict.index}`, `names a module where a script is needed, ${outside}`);
      case 'script':
        if (verdict.loads !== undefined && this.config.allowedRoots !== undefined) {
          throw wrong(`/args/${verdict.loads}`, `loads code beside the script, which may lie ${outside}`);
        }
        return this.checkScript(args[verdict.index] ?? '', `/args/${verdict.index}`, cwd);
      default:
        return verdict satisfies never;
    }
  }

  private async checkScript(script: string, pointer: string, cwd: string): Promise<void> {
    if (climbs(script)) throw wrong(pointer, 'must not hold ".."');
    if (this.config.allowedRoots === undefined) return;
    const path = isAbsolute(script) ? script : resolve(cwd, script);
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined) throw wrong(pointer, `does not exist: ${path}`);
    if (!(await this.isBelowRoots(real))) throw wrong(pointer, `leads to ${real}, ${outside}`);
  }

  private async isBelowRoots(real: string): Promise<boolean> {
    const roots = this.config.allowedRoots;
    if (roots === undefined) return true;
    for (const root of roots) {
      const realRoot = await realpath(root).catch(() => undefined);
      if (realRoot !== undefined && isBelow(real, realRoot)) return true;
    }
    return false;
  }
}

/** Variables by which interpreters and the system's loader find code beside what they are told to run. */
const loading =
  /^(LD_.*|GCONV_PATH|NODE_(OPTIONS|PATH)|PYTHON(PATH|HOME|STARTUP|USERBASE|BREAKPOINT)|RUBY(OPT|LIB)|PERL(5(OPT|LIB|DB)|LIB)|BASH_ENV|ENV|(_|JDK_)?JAVA_(TOOL_)?OPTIONS|CLASSPATH)$/;

const outside = 'outside of CUSTOM_TOOLS_ALLOWED_ROOTS';

/** `python3.12` is listed where `python3` is. */
const majorOf = (name: string): string => /^[a-z]+\d/.exec(name)?.[0] ?? name;

const climbs = (path: string): boolean => path.split('/').includes('..');

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
