/** What the end of a command says to scripts. */
export const exit = {
  fine: 0,
  /** The answer is no: a call failed or was refused, a tool is not healthy, something is missing. */
  no: 1,
  /** The command line is wrong. */
  usage: 2,
  /** No server answers. */
  unreachable: 3,
} as const;

type ExitCode = (typeof exit)[keyof typeof exit];

/** Ends the command with a sentence on stderr. */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    message: string,
    readonly code: ExitCode = exit.no,
    /** What --json prints in place of the sentence, such as the server's problem. */
    readonly body: unknown = { detail: message },
  ) {
    super(message);
  }
}

/** The code of the problem that a server answered with. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof CliError ? (error.body as { readonly code?: string } | undefined)?.code : undefined;

export const withHint = ({ message, code, body }: CliError, hint: string): CliError =>
  new CliError(`${message}\n  ${hint}`, code, body);
