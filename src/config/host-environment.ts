import { variableNames } from './environment.js';

const own: ReadonlySet<string> = new Set(variableNames);

/** The host's variables that a tool's process may be given; nothing else is inherited. */
export function hostVariable(name: string): string | undefined {
  return process.env[name];
}

/** A setting of the server itself, which may be a secret of its: no tool is given those. */
export const isServersOwn = (name: string): boolean => own.has(name);
