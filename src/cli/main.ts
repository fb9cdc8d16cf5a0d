import { CommanderError } from 'commander';
import { CliError, exit, escapeControls } from './output.js';
import { buildProgram } from './program.js';

/** Runs a command line. @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  // The reader may close the pipe early (`… | head`).
  process.stdout.on('error', () => process.exit(exit.ok));
  try {
    await buildProgram().parseAsync([...args], { from: 'user' });
    return Number(process.exitCode ?? exit.ok);
  } catch (error) {
    return reportError(error, args.includes('--json'));
  }
}

/** Prints an error. @returns the exit code */
function reportError(error: unknown, asJson: boolean): number {
  // commander has printed the error or its help already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exit.ok : exit.usage;
  const { message, code, body } = error instanceof CliError ? error : new CliError(String(error));
  process.stderr.write(asJson ? `${JSON.stringify(body)}\n` : `toolkeeper: ${escapeControls(message)}\n`);
  return code;
}
