import { createReadStream } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { PreparedLaunch } from './launch-preparation.js';

const byteOrderMarks = ['efbbbf', 'fffe', 'feff'].map((hex) => Buffer.from(hex, 'hex'));

/** The first bytes of a file; none of one that cannot be read. */
const headOf = async (path: string): Promise<Buffer> =>
  Buffer.concat(
    await createReadStream(path, { end: 63 })
      .toArray()
      .catch(() => []),
  );

/** Faults at the beginning of a tool's program and script that their error messages do not name. */
export async function scriptFaults({ spec, script, remote }: PreparedLaunch): Promise<string[]> {
  if (remote) return [];
  const files = [spec.command, ...(script === undefined ? [] : [resolve(spec.cwd, spec.args[script] ?? '')])];
  const faults = await Promise.all(
    files.map(async (path, n) => {
      const head = await headOf(path);
      const begins = (bytes: Buffer): boolean => head.subarray(0, bytes.length).equals(bytes);
      if (byteOrderMarks.some(begins))
        return `${basename(path)} begins with a byte order mark: save it as UTF-8 without one`;
      if (/^#![^\n]*\r\n/.test(head.toString('latin1')))
        return `${basename(path)} has the line ends of Windows (CRLF)`;
      const isText = head.length > 0 && head.every((byte) => byte >= 9 && byte < 127);
      return n === 0 && isText && !begins(Buffer.from('#!'))
        ? `${basename(path)} has no #! line, such as #!/usr/bin/env python3`
        : undefined;
    }),
  );
  return faults.filter((fault) => fault !== undefined);
}
