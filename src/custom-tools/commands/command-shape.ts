/** How the interpreters of one family are started: `command [harmless options] script [arguments of the script]`. */
export interface Family {
  /**
   * What may stand before the script wherever that must lie below a root, since it changes nothing about what code runs.
   * `N` is a number, `…` any text; an option with a space takes two arguments. Options of one letter may share a dash.
   */
  readonly harmless: readonly string[];
  /** What carries code, or has it read from the input: there is no script then. */
  readonly code: RegExp;
}

const warnings = ['default', 'error', 'always', 'once', 'ignore'];

const shell: Family = {
  harmless: ['-e', '-f', '-u', ...['errexit', 'noglob', 'nounset', 'pipefail'].map((name) => `-o ${name}`)],
  code: /^-[a-zA-Z]*[csi]/,
};
const deno = 'ffi,hrtime,net,read,write,run,env,sys,all'.split(',').map((what) => `--allow-${what}`);

const families: Readonly<Record<string, Family>> = {
  python: {
    harmless: [
      ...['-u', '-E', '-s', '-S', '-I', '-P', '-B', '-O', '-q', '-b'],
      ...['X dev', 'X utf8', 'X faulthandler', ...warnings.map((action) => `W ${action}`)].flatMap(
        (option) => [`-${option}`, `-${option.replace(' ', '')}`],
      ),
    ],
    code: /^-[bBdEIOPqsSuvx]*[ci]/,
  },
  node: {
    harmless: [
      ...['--no-warnings', '--disable-warning=…', '--no-deprecation', '--trace-warnings', '--trace-uncaught'],
      ...['--enable-source-maps', '--experimental-strip-types', '--unhandled-rejections=…', '--expose-gc'],
      ...['--max-old-space-size=N', '--max-semi-space-size=N', '--stack-trace-limit=N'],
    ],
    code: /^(-[epi]+|--(eval|print|interactive)(=.*)?)$/,
  },
  deno: {
    harmless: [
      ...[
        'run',
        '-A',
        '-q',
        '--quiet',
        '--no-prompt',
        '--no-check',
        '--no-remote',
        '--no-npm',
        '--no-config',
      ],
      ...['--cached-only', ...deno, ...deno.map((flag) => `${flag}=…`)],
    ],
    code: /^(eval|repl)$/,
  },
  bun: {
    harmless: ['run', '--smol', '--bun', '--no-install'],
    code: /^(-[ep]+|--(eval|print)(=.*)?|repl|x|exec)$/,
  },
  sh: shell,
  bash: shell,
  dash: shell,
  ash: shell,
  zsh: shell,
  ksh: shell,
  ruby: { harmless: ['-w', '-W0', '-W1', '-W2', '--yjit', '--disable-gems'], code: /^-[acdlnpsSuUvwW]*e/ },
  perl: { harmless: ['-w', '-W', '-X', '-t', '-T'], code: /^-[aclnpstTuUvwWX0]*[eE]/ },
  java: {
    harmless: [
      '-jar',
      '-ea',
      '-server',
      '-XmxN',
      '-XmsN',
      '-XssN',
      '-XX:+UseSerialGC',
      '-XX:MaxRAMPercentage=N',
    ],
    code: /^-(javaagent|agentlib|agentpath):/,
  },
};

/** An interpreter that an operator added: what most of them call such options. */
const unknownFamily: Family = {
  harmless: [],
  code: /^(-[ceEpr]|--(eval|exec|run|command|print|code)(=.*)?)$/,
};

/** What an interpreter's arguments say it runs. */
export type CommandShape =
  /** The argument at `index` is the script; `unknown` is the first before it that is not known to be harmless. */
  | { readonly kind: 'script'; readonly index: number; readonly unknown?: number | undefined }
  /** The argument at `index` is code, or has it taken from elsewhere. */
  | { readonly kind: 'code'; readonly index: number }
  /** Nothing names a script: most interpreters would read one from their input. */
  | { readonly kind: 'none'; readonly unknown?: number | undefined };

/** `python3.12` is `python`; undefined: no interpreter that is known here. */
export function familyOf(command: string): Family | undefined {
  const name = /^([a-z]+?)[\d.]*$/.exec(command)?.[1];
  return name !== undefined && Object.hasOwn(families, name) ? families[name] : undefined;
}

/** Reads an interpreter's arguments up to its script: what comes after it is the script's own business. */
export function shapeOf(args: readonly string[], { harmless, code }: Family = unknownFamily): CommandShape {
  let unknown: number | undefined;
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? '';
    if (isHarmless(harmless, arg)) continue;
    if (isHarmless(harmless, `${arg} ${args[index + 1]}`)) index++;
    else if (code.test(arg) || arg === '-' || isRemote(arg)) return { kind: 'code', index };
    else if (/^[-+]/.test(arg)) unknown ??= index;
    else return { kind: 'script', index, unknown };
  }
  return { kind: 'none', unknown };
}

/** What a message says may stand before the script. */
export const harmlessOptions = ({ harmless }: Family = unknownFamily): string =>
  harmless.length > 0 ? harmless.join(', ') : 'nothing';

function isHarmless(harmless: readonly string[], text: string): boolean {
  if (harmless.some((option) => patternOf(option).test(text))) return true;
  // -eu is -e and -u.
  const [, first, rest] = /^-(\w)(\w.*)$/.exec(text) ?? [];
  return rest !== undefined && harmless.includes(`-${first}`) && isHarmless(harmless, `-${rest}`);
}

function patternOf(option: string): RegExp {
  const literal = option.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
  return new RegExp(`^${literal.replace(/N$/, '\\d+[kKmMgG]?').replace(/…$/, '.*')}$`);
}

/** Code in a URL, or from a place that is not this machine; also as an option's value. */
const isRemote = (arg: string): boolean => /^(-[^=]*=)?(data|https?|npm|jsr):/i.test(arg);
