import { realpath } from 'node:fs/promises';
import { basename, dirname, resolve, sep } from 'node:path';
import { type AppConfig, isServersOwn } from '../../../base/config/app-config.js';
import { isOneOf } from '../../../base/common/name-patterns.js';
import { harmlessVariables, isSteering } from '../../../base/config/tool-variables.js';
import { wrong } from '../../../web/rest/wrong-field.js';

/** An executable that was found, and its arguments. */
export interface FoundCommand {
  /** The command as it was registered. */
  readonly command: string;
  readonly args: readonly string[];
  /** The same arguments as registered, before those that name files were made absolute. */
  readonly writtenArgs: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** The file itself, links resolved. */
  readonly realPath: string;
  /** It is the file that the server's own PATH has under the command's name. */
  readonly isHosts: boolean;
  /** It came in a bundle, and bundles are taken. */
  readonly mayBringCode: boolean;
}

/** Options that change nothing about the code that runs, for any interpreter. */
const harmless = /^(-u|-jar|--no-warnings|--enable-source-maps|--max-old-space-size=\d+)$/;
const harmlessOptions = '-u, -jar, --no-warnings, --enable-source-maps and --max-old-space-size=<MB>';

/** Decides what a tool may be started from; every refusal is a Problem `invalid_request` that names the field. */
export class CommandRules {
  constructor(private readonly config: AppConfig['commands']) {}

  /** Checks what needs no look at the disk. */
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
    if (!(await this.isBelowRoots(real))) throw this.outside('/workingDir', real, real);
  }

  /**
   * Checks a command against the allowed roots: an executable below a root, or an interpreter with harmless options and
   * a file below a root. A bundle brings code of its own, so the arguments of its interpreter are free.
   * @returns the arguments to start it with
   * @throws Problem `invalid_request` naming `/command` or the argument
   */
  async checkCommand(found: FoundCommand): Promise<readonly string[]> {
    const { command, args, writtenArgs, cwd, realPath, isHosts, mayBringCode } = found;
    const isInterpreter = this.isInterpreter(command);
    const first = args.findIndex((arg) => !harmless.test(arg));
    if ((isInterpreter || this.isInterpreter(realPath)) && climbs(writtenArgs[first] ?? ''))
      throw wrong(`/args/${first}`, 'must not hold ".."');
    if (this.config.allowedRoots === undefined) return args;
    if (!(isInterpreter && isHosts) && !(await this.isBelowRoots(realPath)))
      throw wrong(
        '/command',
        `leads to ${realPath}, which is no interpreter of CUSTOM_TOOLS_INTERPRETERS, ${outside}: ${moving}`,
      );
    if (mayBringCode || !(isInterpreter || this.isInterpreter(realPath))) return args;
    const arg = args[first];
    if (arg === undefined)
      throw wrong('/args', `names no script: ${command} would take what callers send for its program`);
    if (/^[-+]/.test(arg))
      throw wrong(
        `/args/${first}`,
        `is no harmless option: with CUSTOM_TOOLS_ALLOWED_ROOTS only ${harmlessOptions} may stand before the script ` +
          `of ${command}. Write others into the #! line of an executable script and register that, or ${moving}`,
      );
    // A path, so that no interpreter takes it for a subcommand.
    return args.with(first, await this.checkScript(resolve(cwd, arg), `/args/${first}`));
  }

  /** Whether a program is an interpreter by its name; `python3.12` is one where `python3` or `python` is. */
  isInterpreter(program: string): boolean {
    const name = basename(program);
    return [name, name.replace(/\.[\d.]+$/, ''), stemOf(name)].some((each) =>
      this.config.interpreters.has(each),
    );
  }

  /** @returns the index of the argument that an interpreter takes as its script, if it can be determined */
  scriptOf({ command, args }: Pick<FoundCommand, 'command' | 'args'>): number | undefined {
    const first = args.findIndex((arg) => !harmless.test(arg));
    return this.isInterpreter(command) && /^[^-+]/.test(args[first] ?? '') ? first : undefined;
  }

  private async checkScript(path: string, pointer: string): Promise<string> {
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined) throw wrong(pointer, `does not exist: ${path}`);
    // A script finds what belongs to it beside its name, not beside what that is a link to.
    for (const place of [real, path])
      if (!(await this.isBelowRoots(place))) throw this.outside(pointer, place, dirname(place));
    return path;
  }

  private outside(pointer: string, place: string, folder: string) {
    const roots = [...(this.config.allowedRoots ?? []), folder].join(',');
    return wrong(
      pointer,
      `leads to ${place}, ${outside}: ${moving}; to allow it, set CUSTOM_TOOLS_ALLOWED_ROOTS=${roots}`,
    );
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
const moving = 'register the tool as a bundle (toolkeeper tool register <folder>)';
const steers = `programs read: it could have them run code ${outside}`;
const mayBeSet =
  `with CUSTOM_TOOLS_ALLOWED_ROOTS a tool may set ${harmlessVariables.join(', ')}, ` +
  'and what CUSTOM_TOOLS_ALLOWED_ENV lists';

/** `python3.12` is `python`. */
export const stemOf = (name: string): string => name.replace(/[\d.]+$/, '');

const climbs = (path: string): boolean => path.split('/').includes('..');

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
