import { familyOf, harmlessOptions, shapeOf } from './command-shape.js';

/** What is read, where it stands, and where the first option is that is not known. */
const shape = (command: string, args: string): string => {
  const read = shapeOf(args === '' ? [] : args.split(' '), familyOf(command));
  const index = 'index' in read ? ` ${read.index}` : '';
  const unknown = 'unknown' in read && read.unknown !== undefined ? `, unknown ${read.unknown}` : '';
  return read.kind + index + unknown;
};

describe('the shape of a command', () => {
  it.each([
    ['python3', 'tool.py -c x', 'script 0'],
    ['python3.12', '-u -W ignore -X dev tool.py', 'script 5'],
    ['python3', '-Wignore -OOB -uIs tool.py', 'script 3'],
    ['python3', '-X utf8 tool.py', 'script 2'],
    ['node', 'tool.mjs --eval=1', 'script 0'],
    ['node', '--max-old-space-size=64 --no-warnings --enable-source-maps tool.mjs', 'script 3'],
    ['bash', 'tool.sh', 'script 0'],
    ['bash', '-eu -o pipefail tool.sh -c', 'script 3'],
    ['bash', '-euo pipefail tool.sh', 'script 2'],
    ['ruby', '-w -W0 tool.rb', 'script 2'],
    ['perl', '-wT tool.pl', 'script 1'],
    ['deno', 'run --allow-net=example.org:443 --allow-read=/srv -q tool.ts', 'script 4'],
    ['bun', 'run --smol tool.ts', 'script 2'],
    ['java', '-Xmx64m -XX:+UseSerialGC -jar tool.jar -cp x', 'script 3'],
    ['php', 'tool.php -r x', 'script 0'],
  ])('%s %s: %s', (command, args, read) => expect(shape(command, args)).toBe(read));

  it.each([
    ['python3', '-c print(1)', 'code 0'],
    ['python3', '-Bcprint(1)', 'code 0'],
    ['python3', '-W ignore -Ic x', 'code 2'],
    ['python', '-i tool.py', 'code 0'],
    ['python3', '-', 'code 0'],
    ['python3', '', 'none'],
    ['python3', '-u', 'none'],
    ['node', '-e 1', 'code 0'],
    ['node', '-pe 1', 'code 0'],
    ['node', '--eval=1', 'code 0'],
    ['node', '--print 1', 'code 0'],
    ['node', '--import=data:text/javascript,1 tool.mjs', 'code 0'],
    ['node', '--import data:text/javascript,1 tool.mjs', 'code 1'],
    ['bash', '-euo pipefail -c id', 'code 2'],
    ['bash', '-lc id', 'code 0'],
    ['bash', '-es', 'code 0'],
    ['sh', '-s', 'code 0'],
    ['ruby', '-ne puts', 'code 0'],
    ['perl', '-lne print', 'code 0'],
    ['deno', 'eval 1', 'code 0'],
    ['deno', 'run https://example.com/x.ts', 'code 1'],
    ['deno', 'run -', 'code 1'],
    ['java', '-javaagent:x.jar -jar tool.jar', 'code 0'],
    ['php', '-r phpinfo();', 'code 0'],
  ])('%s %s has no script: %s', (command, args, read) => expect(shape(command, args)).toBe(read));

  it.each([
    ['python3', '-m http.server', 'script 1, unknown 0'],
    ['python3', '-X pycache_prefix=/evil tool.py', 'script 1, unknown 0'],
    ['python3', '-Xpycache_prefix=/evil tool.py', 'script 1, unknown 0'],
    ['python3', '-W error::evil.Category tool.py', 'script 1, unknown 0'],
    ['python3', '-uWerror::evil.Category tool.py', 'script 1, unknown 0'],
    ['python3', '--check-hash-based-pycs never tool.py', 'script 1, unknown 0'],
    ['node', '--test-reporter=/evil/r.mjs --test tool.mjs', 'script 2, unknown 0'],
    ['node', '--no-warnings -r ./hook.cjs tool.mjs', 'script 2, unknown 1'],
    ['node', '--inspect tool.mjs', 'script 1, unknown 0'],
    ['node', '--openssl_config=/evil/c tool.mjs', 'script 1, unknown 0'],
    ['node', '--max-old-space-size=64,--x tool.mjs', 'script 1, unknown 0'],
    ['bash', '-x tool.sh', 'script 1, unknown 0'],
    ['bash', '-ex tool.sh', 'script 1, unknown 0'],
    ['bash', '-o xtrace tool.sh', 'script 1, unknown 0'],
    ['bash', '--rcfile /evil/rc tool.sh', 'script 1, unknown 0'],
    ['bash', '+o posix tool.sh', 'script 1, unknown 0'],
    ['ruby', '-I/evil tool.rb', 'script 1, unknown 0'],
    ['perl', '-Mevil tool.pl', 'script 1, unknown 0'],
    ['deno', 'run --config=/evil/deno.json tool.ts', 'script 2, unknown 1'],
    ['deno', 'run --allow-everything tool.ts', 'script 2, unknown 1'],
    ['java', '-cp /evil -jar tool.jar', 'script 1, unknown 0'],
    ['php', '-d x=1', 'script 1, unknown 0'],
    ['bash', '--norc', 'none, unknown 0'],
  ])('%s %s is not known to be harmless: %s', (command, args, read) =>
    expect(shape(command, args)).toBe(read),
  );
});

it.each([
  ['python3.12', true],
  ['node22', true],
  ['php', false],
  ['constructor', false],
  ['python3-config', false],
])('%s is of a family that is known: %s', (name, known) => expect(familyOf(name) !== undefined).toBe(known));

it('says what is harmless', () => {
  expect(harmlessOptions(familyOf('bash'))).toBe(
    '-e, -f, -u, -o errexit, -o noglob, -o nounset, -o pipefail',
  );
  expect(harmlessOptions()).toBe('nothing');
});
