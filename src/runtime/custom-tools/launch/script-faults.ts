import { basename, resolve } from 'node:path';
import { headOf } from '../../../base/common/regular-file.js';
import type { PreparedLaunch } from './launch-preparation.js';

/** Faults at the beginning of a tool's program and script that error messages of the system do not name. */
export async function scriptFaults({ spec, script, remote }: PreparedLaunch): Promise<string[]> {
  if (remote) return [];
  const files = [spec.command, ...(script === undefined ? [] : [resolve(spec.cwd, spec.args[script] ?? '')])];
  const faults = await Promise.all(
    files.map(async (path, index) => {
      const head = await headOf(path, 64).catch(() => '');
      if (/^(\xef\xbb\xbf|\xff\xfe|\xfe\xff)/.test(head))
        return `${basename(path)} begins with a byte order mark: save it as UTF-8 without one`;
      if (/^#![^\n]*\r\n/.test(head)) return `${basename(path)} has the line ends of Windows (CRLF)`;
      return index === 0 && /^(?!#!)[\t-~]+$/.test(head)
        ? `${basename(path)} has no #! line, such as #!/usr/bin/env python3`
        : undefined;
    }),
  );
  return faults.filter((fault) => fault !== undefined);
}

/** The place where a program in Python or Node.js failed, with its error, such as "tool.py line 166: SyntaxError: … ". */
export function sourceFault(stderr: string): string {
  const [, file, line] = [...stderr.matchAll(/File "(?:[^"\n]*\/)?([^"/\n]+)", line (\d+)/g)].at(-1) ?? [];
  if (file) return `${file} line ${line}: ${stderr.split('\n').at(-1)}. `;
  const node = /^\S*\/([^/\s]+\.[cm]?[jt]s):(\d+)\n[^]*?^(\w*Error: .*)$/m.exec(stderr);
  return node ? `${node[1]} line ${node[2]}: ${node[3]}. ` : '';
}
