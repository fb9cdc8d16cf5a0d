/** Max characters of a failure that are searched for words. */
const searchedChars = 2_000;

/** Beginnings of the messages with which SDKs refuse arguments. */
const inputErrors = [
  /^(error: )?mcp error -32602(?!: output)/i,
  /^(error: )?(input validation error|invalid (arguments?|params|parameters?|input)\b)/i,
  /^(error executing tool \S+: )?\d+ validation errors? for (call\[|\w+Arguments\b)/i,
];

/** Whether an SDK refused the arguments of a call, which is the caller's error. */
export const isInputError = (text: string): boolean => inputErrors.some((words) => words.test(text));

/** Words for failures of a tool or its dependencies. They outweigh `refusals`. */
const faults =
  /\b(time[ds]?[ -]?out|e(conn\w+|notfound|pipe)|connection|connect|network|sockets?|dns|internal|unavailable|overloaded|traceback|panic|segmentation|out of memory|command|modules?|50[0-4])\b/i;
/** Words and codes of services for things that do not exist, are closed or are not allowed. */
const refusals = [
  /\b(40[134]|410)\b|enoent|eacces|eperm|not[ _-]?found|no[ _-]such|do(es)?(n't| not) (seem to )?exist|unknown_\w+|(can ?not|couldn't|could not) (be found|find)|no longer exists|resource[_ ]missing/i,
  /\b(is|was|are|been|already|currently|has) (closed|archived|deleted|locked|expired|cancelled|merged|gone)\b|(is_|already_)\w+|closed\W*$/i,
  /forbidden|access denied|denied|not[ _-](allowed|permitted|authori[sz]ed|accessible|in_channel)|unauthori[sz]ed|permissions?\b|restricted|missing_scope/i,
];

/** Whether a failure says that an access token is not or no longer accepted. */
export const isUnauthorized = (text: string): boolean =>
  /\b401\b|unauthori[sz]ed|unauthenticated|bad credentials|invalid[_ ](auth\b|(access[_ ])?token)|token.{0,20}(expired|revoked|invalid)/i.test(
    text.slice(0, searchedChars),
  );

/** Whether a failed result says that something is not found, closed or not allowed. */
export function isRefused(text: string): boolean {
  const beginning = text.slice(0, searchedChars);
  return refusals.some((words) => words.test(beginning)) && !faults.test(beginning);
}
