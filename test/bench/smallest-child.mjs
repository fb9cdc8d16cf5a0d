/** The smallest tool that answers: what it costs to start and to ask is the least that there is. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const bash =
  'while IFS= read -r l; do i="${l#*\\"id\\":\\"}"; echo "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":\\"${i%%\\"*}\\",\\"result\\":{}}"; done';

/** A C program where there is a compiler, else bash. @param folder for the program */
export function smallestChild(folder) {
  const binary = join(folder, 'echo-child');
  const { status } = spawnSync('gcc', ['-O2', '-o', binary, join(import.meta.dirname, 'echo-child.c')]);
  return status === 0
    ? { what: 'C', command: binary, args: [] }
    : { what: 'bash', command: 'bash', args: ['-c', bash] };
}
