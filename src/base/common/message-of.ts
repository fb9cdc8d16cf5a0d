/** The message of an error, or of any other thrown value. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
