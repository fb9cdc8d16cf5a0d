/** Environment variables; their names are checked where a tool is registered, their values may hold anything. */
export type Variables = readonly (readonly [name: string, value: string])[];

/**
 * Variables by which a program runs other code before its own begins (those that the C library ignores where a program
 * has more rights than its caller). A tool may set them for itself, never for the programs that put it into its sandbox.
 */
const ofTheLoader = /^(LD_.*|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_.*)$/;

/** @returns what every program may see, and what only the tool may */
export function apartFromLoader(env: Readonly<Record<string, string>>): {
  readonly harmless: Record<string, string>;
  readonly forTheTool: Variables;
} {
  const all = Object.entries(env);
  return {
    harmless: Object.fromEntries(all.filter(([name]) => !ofTheLoader.test(name))),
    forTheTool: all.filter(([name]) => ofTheLoader.test(name)),
  };
}
