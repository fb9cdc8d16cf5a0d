import { CommanderError } from 'commander';
import { CliError, exit, visible } from './output.js';
import { buildProgram } from './program.js';

/** Runs a command line. @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  // The reader may close the pipe early (`… | head`).
  process.stdout.on('error', () => process.exit(exit.fine));
  try {
    await buildProgram().parseAsync([...args], { from: 'user' });
    return Number(process.exitCode ?? exit.fine);
  } catch (error) {
    return reportError(error, args.includes('--json'));
  }
}

function reportError(error: unknown, json: boolean): number {
  // commander has printed the error or its help already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exit.fine : exit.usage;
  const { message, code, body } = error instanceof CliError ? error : new CliError(String(error));
  process.stderr.write(json ? `${JSON.stringify(body)}\n` : `toolkeeper: ${visible(message)}\n`);
  return code;
}
