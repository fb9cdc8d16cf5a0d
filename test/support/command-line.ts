import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { built } from './built.js';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command line as its users run it: a process of its own, without a terminal. */
export class CommandLine {
  private readonly program: string;

  constructor(
    /** Beside the PATH. */
    private readonly variables: Readonly<Record<string, string>>,
    private readonly folder: string,
  ) {
    this.program = join(built(), 'bin', 'toolkeeper.mjs');
  }

  start(...args: string[]): ChildProcessWithoutNullStreams {
    const { PATH, HOME } = process.env;
    const environment = { ...(PATH && { PATH }), ...(HOME && { HOME }) };
    const options = { cwd: this.folder, env: { ...environment, ...this.variables } };
    return spawn(process.execPath, [this.program, ...args], options);
  }

  /** With an empty stdin. */
  run(...args: string[]): Promise<Ended> {
    return this.runWith('', ...args);
  }

  async runWith(input: string, ...args: string[]): Promise<Ended> {
    const child = this.start(...args);
    const text = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (chunk: Buffer) => (text[name] += chunk.toString()));
    child.stdin.end(input);
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, ...text };
  }

  /** Changes a file of its folder. */
  edit(file: string, from: string | RegExp, to: string): void {
    const path = join(this.folder, file);
    const text = readFileSync(path, 'utf8');
    expect(text.replace(from, to)).not.toBe(text);
    writeFileSync(path, text.replace(from, to));
  }
}

/** What a command that must succeed printed. */
export async function ok(ended: Promise<Ended>): Promise<string> {
  const { code, stdout, stderr } = await ended;
  if (code !== 0) throw new Error(`the command ended with ${code}: ${stderr}`);
  return stdout;
}
