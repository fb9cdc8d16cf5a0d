/** The host's variables that a tool's process may be given; nothing else is inherited. */
export function hostVariable(name: string): string | undefined {
  return process.env[name];
}
