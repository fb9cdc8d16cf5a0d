import { realpath } from 'node:fs/promises';
import { basename, resolve, sep } from 'node:path';
import { type AppConfig, isServersOwn } from '../../config/app-config.js';
import { isOneOf } from '../../common/name-patterns.js';
import { harmlessVariables, isSteering } from '../../config/tool-variables.js';
import { wrong } from '../entity/wrong-field.js';
import { type Family, familyOf, harmlessOptions, shapeOf } from './command-shape.js';

/** An executable that was found, and what it turned out to be. */
export interface FoundCommand {
  /** As registered. */
  readonly command: string;
  readonly args: readonly string[];
  /** The same arguments as registered, before those that name files were made absolute. */
  readonly writtenArgs: readonly string[];
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

  /**
   * Checks the variables that a tool gets. If code must lie below a root, no variable may make a program load it from
   * elsewhere. A tool may get the server's own variables only if they are harmless or the operator lists them.
   * @param own the names of the tool's own variables
   * @param granted those that it is given of the server's
   */
  checkVariables(own: readonly string[], granted: readonly string[]): void {
    const { allowedRoots, allowedVariables } = this.config;
    const isFree = (name: string): boolean => isOneOf([...harmlessVariables, ...allowedVariables], name);
    for (const name of allowedRoots === undefined ? [] : own) {
      if (isFree(name)) continue;
      throw wrong(
        `/env/${name}`,
        isSteering(name) ? `names ${name}, which ${steers}` : `names ${name}; ${mayBeSet}`,
      );
    }
    for (const [n, name] of granted.entries()) {
      if (isFree(name) || alwaysGiven.includes(name) || isServersOwn(name)) continue;
      throw wrong(
        `/permissions/allowedEnvironmentVars/${n}`,
        `names ${name} of this server's environment, which may be a secret: give the tool a value of its own in env` +
          (isSteering(name)
            ? ''
            : `, or set CUSTOM_TOOLS_ALLOWED_ENV=${[...allowedVariables, name].join(',')}`),
      );
    }
  }

  /** @param workingDir absolute; only one that the registration names is asked about */
  async checkWorkingDir(workingDir: string): Promise<void> {
    const real = await realpath(workingDir);
    if (!(await this.isBelowRoots(real))) throw wrong('/workingDir', `leads to ${real}, ${outside}`);
  }

  /**
   * @returns the index of the argument that is an interpreter's script, where it is known to be one
   * @throws Problem `invalid_request` naming `/command` or the argument
   */
  async checkCommand(found: FoundCommand): Promise<number | undefined> {
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
    if (family === undefined && !this.isListed(name)) return undefined;
    return this.checkArguments(family, found);
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
    family: Family | undefined,
    { command, args, writtenArgs, cwd }: FoundCommand,
  ): Promise<number | undefined> {
    const shape = shapeOf(args, family);
    if (shape.kind === 'code') {
      if (this.config.allowInlineCode) return undefined;
      throw wrong(
        `/args/${shape.index}`,
        `gives ${command} code instead of a script: put it into a file, or set CUSTOM_TOOLS_ALLOW_INLINE_CODE=true`,
      );
    }
    if (shape.unknown !== undefined && this.config.allowedRoots !== undefined) {
      throw wrong(
        `/args/${shape.unknown}`,
        `is not known to run no code ${outside}; before the script of ${command} may stand: ${harmlessOptions(family)}`,
      );
    }
    if (shape.kind === 'script') {
      const pointer = `/args/${shape.index}`;
      if (climbs(writtenArgs[shape.index] ?? '')) throw wrong(pointer, 'must not hold ".."');
      await this.checkScript(resolve(cwd, args[shape.index] ?? ''), pointer);
      return shape.unknown === undefined ? shape.index : undefined;
    }
    if (this.config.allowInlineCode) return undefined;
    throw wrong('/args', `names no script: ${command} would take what callers send for its program`);
  }

  private async checkScript(path: string, pointer: string): Promise<void> {
    if (this.config.allowedRoots === undefined) return;
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined) throw wrong(pointer, `does not exist: ${path}`);
    // A script finds what belongs to it beside its name, not beside what that is a link to.
    for (const place of [real, path]) {
      if (!(await this.isBelowRoots(place))) throw wrong(pointer, `leads to ${place}, ${outside}`);
    }
  }

  /** @param path absolute; a root counts by its own name, too, if it is a link */
  private async isBelowRoots(path: string): Promise<boolean> {
    const roots = this.config.allowedRoots;
    if (roots === undefined) return true;
    for (const root of roots) {
      const realRoot = await realpath(root).catch(() => undefined);
      if (realRoot !== undefined && (isBelow(path, realRoot) || isBelow(path, root))) return true;
    }
    return false;
  }
}

/** Given to every tool. */
export const alwaysGiven: readonly string[] = ['PATH', 'HOME', 'LANG'];

const outside = 'outside of CUSTOM_TOOLS_ALLOWED_ROOTS';
const steers = `programs read: it could have them run code ${outside}`;
const mayBeSet =
  `with CUSTOM_TOOLS_ALLOWED_ROOTS a tool may set ${harmlessVariables.join(', ')}, ` +
  'and what CUSTOM_TOOLS_ALLOWED_ENV lists';

/** `python3.12` is listed where `python3` is. */
const majorOf = (name: string): string => /^[a-z]+\d/.exec(name)?.[0] ?? name;

const climbs = (path: string): boolean => path.split('/').includes('..');

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
