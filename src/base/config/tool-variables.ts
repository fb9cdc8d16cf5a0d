import { covers, isOneOf, type NamePattern, stemOf } from '../common/name-patterns.js';
import { ConfigurationError, type Kind, list } from './setting.js';

/** Variables that tools may set even if CUSTOM_TOOLS_ALLOWED_ROOTS is set: language settings, and a tool's own names. */
export const harmlessVariables: readonly NamePattern[] =
  'LANG LANGUAGE LC_* TZ NO_COLOR NODE_ENV TOOL_*'.split(' ');

/** Variables by which a loader, library, shell or interpreter finds code or runs it. Operators cannot allow them. */
const steeringVariables: readonly NamePattern[] = (
  'PATH HOME XDG_* LD_* GLIBC_TUNABLES GCONV_PATH LOCPATH NLSPATH TZDIR MALLOC_* GETCONF_DIR OPENSSL_* ' +
  'BASH* ENV SHELLOPTS PS4 IFS CDPATH FPATH ZDOTDIR GLOBIGNORE PROMPT_COMMAND TEXTDOMAIN* ' +
  'PYTHON* NODE_* DENO_* BUN_* RUBY* GEM_* BUNDLE_* PERL* JAVA_* JDK_* _JAVA_* CLASSPATH PHP* LUA_*'
).split(' ');

/** Whether a variable may decide which code a loader, shell or interpreter runs. */
export const isSteering = (name: string): boolean =>
  isOneOf(steeringVariables, name) && !isOneOf(harmlessVariables, name);

/** A list of variables that tools may set. */
export const variablePatterns: Kind<readonly NamePattern[]> = {
  accepts: 'names of variables, or beginnings with a `*`, comma-separated',
  read: (names) => {
    const patterns = list.read(names);
    const invalid = patterns.filter((pattern) => !/^([A-Za-z_]\w*)?\*?$/.test(pattern));
    if (invalid.length > 0)
      throw new ConfigurationError(`must be ${variablePatterns.accepts}: not ${invalid.join(', ')}`);
    const forbidden = patterns.filter(meetsSteering);
    if (forbidden.length === 0) return patterns;
    throw new ConfigurationError(
      `must not list ${forbidden.join(', ')}: these can make an interpreter, the loader or a shell run code ` +
        'outside of CUSTOM_TOOLS_ALLOWED_ROOTS',
    );
  },
};

/** Whether a pattern covers a steering variable, or is covered by a pattern of steering variables. */
const meetsSteering = (pattern: NamePattern): boolean =>
  !isOneOf(harmlessVariables, stemOf(pattern)) &&
  steeringVariables.some((each) => covers(each, stemOf(pattern)) || covers(pattern, stemOf(each)));
