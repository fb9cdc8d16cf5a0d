/** How an interpreter reads its arguments, as far as it matters for what it runs. */
interface Rules {
  /** Short options that carry code, read it from the input or ask for it; several may share one dash. */
  readonly code: string;
  /** Short options that name a module of the language as the program. */
  readonly module: string;
  /** Short options with a value, attached or in the next argument. */
  readonly valued: string;
  /** Short options whose value is attached: what follows in the same argument is no option. */
  readonly attached: string;
  /** The same for options of a whole word. */
  readonly longCode: readonly string[];
  readonly longValued: readonly string[];
  /** Short options that load code beside the script's, or change where it is looked for. */
  readonly loads: string;
  readonly longLoads: readonly string[];
  /** Words in the script's place that are commands, such as `deno run`. */
  readonly verbs: readonly string[];
  readonly codeVerbs: readonly string[];
  /** Options begin with one dash and are words. */
  readonly singleDashWords: boolean;
}

const none: Rules = {
  code: '',
  module: '',
  valued: '',
  attached: '',
  longCode: [],
  longValued: [],
  loads: '',
  longLoads: [],
  verbs: [],
  codeVerbs: [],
  singleDashWords: false,
};

const startFiles = ['--rcfile', '--init-file'];
const shell: Rules = { ...none, code: 'csi', valued: 'oO', longValued: startFiles, longLoads: startFiles };
const script: Rules = {
  ...none,
  code: 'epi',
  valued: 'rC',
  longCode: ['--eval', '--print', '--interactive'],
  longValued: ['--require', '--import', '--loader', '--experimental-loader', '--conditions', '--env-file'],
  loads: 'r',
  longLoads: [
    '--require',
    '--import',
    '--loader',
    '--experimental-loader',
    '--preload',
    '--snapshot-blob',
    '--openssl-config',
    '--env-file',
    '--env-file-if-exists',
    '--experimental-config-file',
    '--experimental-default-config-file',
  ],
};

const families: Readonly<Record<string, Rules>> = {
  python: { ...none, code: 'ci', module: 'm', valued: 'WX', longValued: ['--check-hash-based-pycs'] },
  node: script,
  bun: {
    ...script,
    loads: 'rc',
    longLoads: [...script.longLoads, '--config'],
    verbs: ['run'],
    codeVerbs: ['repl', 'x', 'exec'],
  },
  deno: {
    ...none,
    valued: 'cL',
    longValued: ['--config', '--import-map', '--log-level', '--lock', '--cert', '--location'],
    loads: 'c',
    longLoads: ['--config', '--import-map', '--preload', '--import', '--require', '--env-file'],
    verbs: ['run', 'serve'],
    codeVerbs: ['eval', 'repl'],
  },
  sh: shell,
  bash: shell,
  dash: shell,
  ash: shell,
  zsh: shell,
  ksh: shell,
  ruby: { ...none, code: 'e', valued: 'rIECX', attached: 'xKW0FiT', loads: 'rICXx' },
  perl: { ...none, code: 'eE', valued: 'I', attached: 'mMxiFD', loads: 'ImMx' },
  java: {
    ...none,
    singleDashWords: true,
    longCode: ['-agentlib', '-agentpath', '-javaagent', '-XX:OnError', '-XX:OnOutOfMemoryError'],
    longValued: ['-cp', '-classpath', '--class-path', '-p', '--module-path', '--add-modules', '--add-opens'],
    longLoads: [
      '-cp',
      '-classpath',
      '--class-path',
      '-p',
      '--module-path',
      '--upgrade-module-path',
      '--patch-module',
      '-Xbootclasspath/a',
      '-Xbootclasspath/p',
      '-Xbootclasspath',
    ],
  },
};

/** For an interpreter that an operator added: what most of them call such options. */
const unknownFamily: Rules = {
  ...none,
  singleDashWords: true,
  longCode: ['-c', '-e', '-E', '-p', '-r', '--eval', '--exec', '--run', '--command', '--print', '--code'],
  longLoads: ['-I', '-l', '-L', '--require', '--import', '--preload', '--include', '--config'],
};

export type ArgumentsVerdict =
  /** The argument at `index` is code, or makes the interpreter take it from elsewhere. */
  | { readonly kind: 'code'; readonly index: number }
  /** `loads`: the argument that loads further code, or has it looked for elsewhere. */
  | { readonly kind: 'script'; readonly index: number; readonly loads?: number | undefined }
  /** A module of the language (`python -m name`), found by the interpreter's own rules. */
  | { readonly kind: 'module'; readonly index: number }
  /** Nothing names a program: most interpreters would read one from their input. */
  | { readonly kind: 'none' };

/** `python3.12` is `python`; undefined: no interpreter that is known here. */
export function familyOf(command: string): string | undefined {
  const name = /^([a-z]+?)[\d.]*$/.exec(command)?.[1];
  return name !== undefined && Object.hasOwn(families, name) ? name : undefined;
}

/** Reads an interpreter's arguments up to its program: what comes after it is the program's own business. */
export function readArguments(family: string | undefined, args: readonly string[]): ArgumentsVerdict {
  const rules = (family === undefined ? undefined : families[family]) ?? unknownFamily;
  let loads: number | undefined;
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? '';
    if (arg === '-' || isRemote(arg)) return { kind: 'code', index };
    if (arg === '--' || arg === '-jar') return programAt(args, index + 1, loads);
    if (rules.verbs.includes(arg)) continue;
    if (rules.codeVerbs.includes(arg)) return { kind: 'code', index };
    if (!/^[-+]/.test(arg)) return { kind: 'script', index, loads };
    const takes = readOption(rules, arg, args[index + 1]);
    if (takes === 'code' || takes === 'module') return { kind: takes, index };
    if (loadsMore(rules, arg)) loads ??= index;
    if (takes === 'value') index++;
  }
  return { kind: 'none' };
}

function programAt(args: readonly string[], index: number, loads: number | undefined): ArgumentsVerdict {
  const arg = args[index];
  if (arg === undefined) return { kind: 'none' };
  return isRemote(arg) || arg === '-' ? { kind: 'code', index } : { kind: 'script', index, loads };
}

type Reading = 'code' | 'module' | 'value' | 'flag';

function readOption(rules: Rules, arg: string, next: string | undefined): Reading {
  if (arg.startsWith('--') || rules.singleDashWords) return readWord(rules, arg, next);
  for (let at = 1; at < arg.length; at++) {
    const letter = arg.charAt(at);
    const rest = arg.slice(at + 1);
    if (rules.code.includes(letter)) return 'code';
    if (rules.module.includes(letter)) return 'module';
    // Perl's -M takes statements, too.
    if (rules.attached.includes(letter))
      return /^[mM]/.test(letter) && !/^-?[\w:=,]*$/.test(rest) ? 'code' : 'flag';
    if (rules.valued.includes(letter)) {
      if (isRemote(rest === '' ? (next ?? '') : rest)) return 'code';
      return rest === '' ? 'value' : 'flag';
    }
  }
  return 'flag';
}

function readWord(rules: Rules, arg: string, next: string | undefined): Reading {
  const value = arg.split(/=(.*)/s)[1];
  const name = wordOf(arg);
  if (rules.longCode.some((code) => name === code || name.startsWith(`${code}:`))) return 'code';
  if (!rules.longValued.includes(name)) return 'flag';
  if (isRemote(value ?? next ?? '')) return 'code';
  return value === undefined ? 'value' : 'flag';
}

function loadsMore(rules: Rules, arg: string): boolean {
  if (arg.startsWith('--') || rules.singleDashWords) {
    const name = wordOf(arg);
    return rules.longLoads.some((option) => name === option || name.startsWith(`${option}:`));
  }
  const letters = [...arg.slice(1)];
  const last = letters.findIndex((letter) => (rules.attached + rules.valued).includes(letter));
  return letters.slice(0, last < 0 ? undefined : last + 1).some((letter) => rules.loads.includes(letter));
}

/** Node reads --experimental_loader as --experimental-loader. */
const wordOf = (arg: string): string => (arg.split('=')[0] ?? '').replaceAll('_', '-');

/** Code in a URL, or from a place that is not this machine. */
const isRemote = (arg: string): boolean => /^(data|https?|npm|jsr):/i.test(arg);
