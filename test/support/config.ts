import { type AppConfig, loadConfig } from '../../src/base/config/app-config.js';

type Changes<T> = T extends object ? { readonly [Name in keyof T]?: Changes<T[Name]> } : T;
export type ConfigChanges = Changes<AppConfig>;

/** The configuration of an environment with other constants, such as shorter times, than an operator may set. */
export const configWith = (variables: NodeJS.ProcessEnv, changes: ConfigChanges = {}): AppConfig =>
  changed(loadConfig(variables), changes) as AppConfig;

function changed(before: object, changes: object): object {
  const entries = Object.entries(changes).map(([name, change]) => {
    const old = (before as Record<string, unknown>)[name];
    const isGroup = typeof change === 'object' && typeof old === 'object' && old !== null;
    return [name, isGroup ? changed(old, change as object) : change];
  });
  return { ...before, ...Object.fromEntries(entries) };
}
