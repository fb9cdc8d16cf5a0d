import { type ArgumentsVerdict, familyOf, readArguments } from './interpreter-options.js';

const kindOf = (command: string, args: string): string => {
  const verdict: ArgumentsVerdict = readArguments(familyOf(command), args === '' ? [] : args.split(' '));
  return 'index' in verdict ? `${verdict.kind} ${verdict.index}` : verdict.kind;
};

describe('readArguments', () => {
  it.each([
    ['python3', 'tool.py -c x', 'script 0'],
    ['python3.12', '-u -W ignore -X dev tool.py', 'script 5'],
    ['python3', '-Wignore tool.py', 'script 1'],
    ['python3', '-c print(1)', 'code 0'],
    ['python3', '-Bcprint(1)', 'code 0'],
    ['python3', '-W ignore -Ic x', 'code 2'],
    ['python', '-i tool.py', 'code 0'],
    ['python3', '-m tool', 'module 0'],
    ['python3', '-um tool', 'module 0'],
    ['python3', '-', 'code 0'],
    ['python3', '', 'none'],
    ['python3', '-- -c', 'script 1'],
    ['node', 'tool.mjs --eval=1', 'script 0'],
    ['node', '--max-old-space-size=64 -r ./hook.cjs tool.mjs', 'script 3'],
    ['node', '-e 1', 'code 0'],
    ['node', '-pe 1', 'code 0'],
    ['node', '--eval=1', 'code 0'],
    ['node', '--print 1', 'code 0'],
    ['node', '--import data:text/javascript,1 tool.mjs', 'code 0'],
    ['node', '--experimental_loader=data:text/javascript,1 tool.mjs', 'code 0'],
    ['node', '-r data:text/javascript,1 tool.mjs', 'code 0'],
    ['node', '--no-warnings', 'none'],
    ['bash', 'tool.sh', 'script 0'],
    ['bash', '-eu -o pipefail tool.sh -c', 'script 3'],
    ['bash', '-euo pipefail -c id', 'code 2'],
    ['bash', '-lc id', 'code 0'],
    ['sh', '-s', 'code 0'],
    ['bash', '+o posix tool.sh', 'script 2'],
    ['bash', '--norc', 'none'],
    ['ruby', '-W0 -I lib tool.rb', 'script 3'],
    ['ruby', '-ne puts', 'code 0'],
    ['perl', '-w -Ilib tool.pl', 'script 2'],
    ['perl', '-lne print', 'code 0'],
    ['perl', '-MList::Util=sum tool.pl', 'script 1'],
    ['perl', '-Mstrict;system("id") tool.pl', 'code 0'],
    ['deno', 'run --allow-net -c deno.json tool.ts', 'script 4'],
    ['deno', 'eval 1', 'code 0'],
    ['deno', 'run https://example.com/x.ts', 'code 1'],
    ['deno', 'run -', 'code 1'],
    ['java', '-Xmx64m -cp lib -jar tool.jar', 'script 4'],
    ['java', '-javaagent:x.jar -jar tool.jar', 'code 0'],
    ['java', '-XX:OnOutOfMemoryError=id -jar tool.jar', 'code 0'],
    ['php', 'tool.php', 'script 0'],
    ['php', '-r phpinfo();', 'code 0'],
  ])('%s %s: %s', (command, args, verdict) => expect(kindOf(command, args)).toBe(verdict));
});

it.each([
  ['node', '-r ./hook.cjs tool.mjs', 0],
  ['node', '--no-warnings --import=./hook.mjs tool.mjs', 1],
  ['node', '--experimental_loader ./hook.mjs tool.mjs', 0],
  ['node', '--env-file=.env -- tool.mjs', 0],
  ['node', '--max-old-space-size=64 tool.mjs --require x', undefined],
  ['bun', 'run --preload ./hook.ts tool.ts', 1],
  ['deno', 'run -c deno.json tool.ts', 1],
  ['ruby', '-W0 -I lib tool.rb', 1],
  ['ruby', '-C /elsewhere tool.rb', 0],
  ['ruby', '-X /elsewhere tool.rb', 0],
  ['ruby', '-Ku tool.rb -r x', undefined],
  ['perl', '-w -Ilib tool.pl', 1],
  ['perl', '-wMstrict tool.pl', 0],
  ['perl', '-i.r tool.pl', undefined],
  ['java', '-Xmx64m -cp lib -jar tool.jar', 1],
  ['java', '-Xbootclasspath/a:lib.jar -jar tool.jar', 0],
  ['python3', '-X dev -W ignore tool.py', undefined],
  ['bash', '-eu -o pipefail tool.sh', undefined],
  ['php', '-I lib tool.php', 0],
])('%s %s: loads more by %s', (command, args, loads) => {
  expect(readArguments(familyOf(command), args.split(' '))).toMatchObject({ kind: 'script', loads });
});

it.each([
  ['python3.12', 'python'],
  ['node22', 'node'],
  ['php', undefined],
  ['constructor', undefined],
  ['python3-config', undefined],
])('%s is of the family %s', (name, family) => expect(familyOf(name)).toBe(family));
