import { loadConfig } from './app-config.js';
import { isSteering } from './tool-variables.js';

describe('CUSTOM_TOOLS_ALLOWED_ENV', () => {
  const listing = (list: string) => () => loadConfig({ CUSTOM_TOOLS_ALLOWED_ENV: list });

  it('lists names and beginnings of names', () =>
    expect(listing('API_KEY, DB_*,http_proxy,NODE_ENV')().commands.allowedVariables).toEqual([
      'API_KEY',
      'DB_*',
      'http_proxy',
      'NODE_ENV',
    ]));

  const forbidden =
    'PYTHONPATH PYTHONPYCACHEPREFIX PYTHONPLATLIBDIR NODE_OPTIONS LD_PRELOAD BASH_ENV ENV SHELLOPTS PS4 OPENSSL_CONF PATH ' +
    'HOME GCONV_PATH LOCPATH NLSPATH RUBYOPT JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH PERL5LIB DENO_DIR ' +
    'ZDOTDIR GLIBC_TUNABLES TEXTDOMAINDIR P* PYTHON* LD_* L* * NODE_OPT* BASH_*';
  it.each(forbidden.split(' '))('cannot list %s, which programs read to find code', (name) =>
    expect(listing(`API_KEY,${name}`)).toThrow(
      `CUSTOM_TOOLS_ALLOWED_ENV: must not list ${name}: these can make an interpreter, the loader or a shell run code`,
    ),
  );

  it.each(['A B', '*_KEY', 'A-B', '7UP', 'A*B'])('cannot list %j, which is no name', (name) =>
    expect(listing(name)).toThrow(/CUSTOM_TOOLS_ALLOWED_ENV: must be names of variables/),
  );
});

it.each([
  ['LD_AUDIT', true],
  ['NODE_PATH', true],
  ['NODE_ENV', false],
  ['TOOL_PATH', false],
  ['LC_ALL', false],
  ['API_KEY', false],
])('%s steers what code runs: %s', (name, steers) => expect(isSteering(name)).toBe(steers));
