import { basename, resolve } from 'node:path';
import { canonicalJson } from '../../../base/common/canonical-json.js';
import { Problem } from '../../../base/common/errors.js';
import { headOf } from '../../../base/common/regular-file.js';
import type { InputSchemas } from '../../../base/schemas/input-validator.js';
import { calledName, reviewedIn, reviewTools } from '../../mcp-client/mcp-review.js';
import type { Handshake } from '../../process-pool/pool.types.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import type { PreparedLaunch } from './launch-preparation.js';

/** Warns if the executable's name differs from the registered one, which is used; often a change was forgotten. */
export function nameWarning({ name, protocol }: CustomTool, handshake: Handshake = {}): string[] {
  if (protocol === 'mcp' || handshake.name === name) return [];
  return handshake.name === undefined
    ? ['The executable does not say its name in initialize']
    : [`The executable says in initialize that its name is ${shorten(handshake.name)}`];
}

/** Sentences about fields in which a registration differs from the executable. The registration is used. */
export function differences(tool: CustomTool, handshake: Handshake): string[] {
  if (tool.protocol === 'mcp') {
    return reviewTools(tool.definitions ?? [], reviewedIn(handshake)).flatMap(({ name, state, why }) =>
      state === 'callable' ? [] : [`${calledName(tool.name, name)} is not callable (${state}): ${why}`],
    );
  }
  const fields = ['name', 'description', 'version', 'inputSchema'] as const;
  return fields.flatMap((field) => {
    const answered = handshake[field];
    if (answered === undefined) return [`${field}: the executable does not say its own in initialize`];
    if (canonicalJson(answered) === canonicalJson(tool[field])) return [];
    return [
      `${field}: the registration says ${shorten(tool[field])}, the executable says ${shorten(answered)}`,
    ];
  });
}

/** Warnings about the executable's input schema: ignored or reinterpreted places, or why it would be refused. */
export async function schemaFaults(
  schemas: InputSchemas,
  { protocol }: CustomTool,
  { inputSchema: own }: Handshake,
): Promise<readonly string[]> {
  if (protocol === 'mcp' || own === undefined) return [];
  return schemas.compile(own).then(
    ({ warnings }) => warnings,
    (error: unknown) => {
      if (!(error instanceof Problem)) throw error;
      return [`inputSchema: the executable's own would be refused: ${error.detail}`];
    },
  );
}

/** Faults at the beginning of a tool's program and script that error messages of the system do not name. */
export async function scriptFaults({ spec, script, remote }: PreparedLaunch): Promise<string[]> {
  if (remote) return [];
  const files = [spec.command, ...(script === undefined ? [] : [resolve(spec.cwd, spec.args[script] ?? '')])];
  const faults: string[] = [];
  for (const [index, path] of files.entries()) {
    const head = await headOf(path, 64).catch(() => '');
    if (/^(\xef\xbb\xbf|\xff\xfe|\xfe\xff)/.test(head))
      faults.push(`${basename(path)} begins with a byte order mark: save it as UTF-8 without one`);
    else if (/^#![^\n]*\r\n/.test(head)) faults.push(`${basename(path)} has the line ends of Windows (CRLF)`);
    else if (index === 0 && /^(?!#!)[\t-~]+$/.test(head))
      faults.push(`${basename(path)} has no #! line, such as #!/usr/bin/env python3`);
  }
  return faults;
}

/** The place where a program in Python or Node.js failed, with its error, such as "tool.py line 166: SyntaxError: … ". */
export function sourceFault(stderr: string): string {
  const [, file, line] = [...stderr.matchAll(/File "(?:[^"\n]*\/)?([^"/\n]+)", line (\d+)/g)].at(-1) ?? [];
  if (file) return `${file} line ${line}: ${stderr.split('\n').at(-1)}. `;
  const node = /^\S*\/([^/\s]+\.[cm]?[jt]s):(\d+)\n[^]*?^(\w*Error: .*)$/m.exec(stderr);
  return node ? `${node[1]} line ${node[2]}: ${node[3]}. ` : '';
}

/** A value as JSON, cut off after 200 characters. */
function shorten(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
