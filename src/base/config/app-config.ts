import { type DynamicModule, Global, Module } from '@nestjs/common';
import { join, resolve } from 'node:path';
import { isLoopback } from '../outbound/addresses.js';
import { manifest, projectRoot } from '../common/project.js';
import { builtinProblems } from './builtin-settings.js';
import { KeyRing } from './key-ring.js';
import { ConfigurationError, flag, Setting, setting, type Values } from './setting.js';
import { settings } from './settings.js';

export { ConfigurationError };

type SettingValues = Values<typeof settings>;
/** The typed configuration tree. Inject it with `@Inject(APP_CONFIG)`. */
export type AppConfig = ReturnType<typeof toConfig>;
/** Injection token of the configuration. */
export const APP_CONFIG = Symbol('AppConfig');

/** Provides the configuration and the keys that encrypt secrets. */
@Global()
@Module({})
export class ConfigModule {
  static forRoot(config: AppConfig): DynamicModule {
    const provided = { provide: APP_CONFIG, useValue: config };
    const { keys, keyFile } = config.secrets;
    const ring = { provide: KeyRing, useFactory: () => new KeyRing(keys, keyFile) };
    return { module: ConfigModule, providers: [provided, ring], exports: [APP_CONFIG, KeyRing] };
  }
}

/** Parses and validates the environment. @throws ConfigurationError that names all invalid variables and what they must be */
export function loadConfig(variables: NodeJS.ProcessEnv = process.env): AppConfig {
  const problems = missingIn(variables);
  const values = valuesOf(settings, withAlias(variables, problems), problems) as SettingValues;
  if (values.auth.issuers?.some((issuer) => issuer.console) && values.server.publicUrl === undefined)
    problems.push(
      'PUBLIC_URL: must be set if OIDC_ISSUERS has `console`: providers send browsers back there',
    );
  if (problems.length === 0) problems.push(...builtinProblems(values.builtinTools, otherFolders(values)));
  if (problems.length > 0)
    throw new ConfigurationError(`The environment is not valid:\n  ${problems.join('\n  ')}`);
  return toConfig(values);
}

/** The values of a tree of settings. @param problems gets a sentence for each invalid variable */
function valuesOf(tree: unknown, variables: NodeJS.ProcessEnv, problems: string[]): unknown {
  if (tree instanceof Setting) return valueOf(tree, variables, problems);
  if (typeof tree !== 'object' || tree === null) return tree;
  return Object.fromEntries(
    Object.entries(tree).map(([name, branch]) => [name, valuesOf(branch, variables, problems)]),
  );
}

function valueOf(setting: Setting<unknown>, variables: NodeJS.ProcessEnv, problems: string[]): unknown {
  const text = textOf(variables, setting.variable) ?? setting.fallback;
  try {
    return text === undefined ? undefined : setting.kind.read(text);
  } catch (error) {
    problems.push(`${setting.variable}: ${(error as ConfigurationError).message}`);
    return undefined;
  }
}

/** An empty value counts as not set. */
const textOf = (variables: NodeJS.ProcessEnv, name: string): string | undefined =>
  variables[name]?.trim() || undefined;

/** Pairs of a variable and another one that it requires, with the reason. */
const requirements = [
  ['DATABASE_SESSION_URL', 'DATABASE_URL', 'both lead to one database'],
  ['WEBHOOK_URLS', 'WEBHOOK_SECRET', 'webhooks are signed'],
  ['EMBEDDINGS_URL', 'EMBEDDINGS_MODEL', 'an endpoint has several models'],
  ['EMBEDDINGS_MODEL', 'EMBEDDINGS_URL', 'a model is reached by its endpoint'],
  ['LLM_BASE_URL', 'LLM_MODEL', 'an endpoint has several models'],
  ['LLM_MODEL', 'LLM_BASE_URL', 'a model is reached by its endpoint'],
] as const;

/** A sentence for each variable that another one requires and that is not set. */
const missingIn = (variables: NodeJS.ProcessEnv): string[] =>
  requirements
    .filter(([one, other]) => textOf(variables, one) && !textOf(variables, other))
    .map(([one, other, why]) => `${other}: must be set if ${one} is: ${why}`);

const sandboxAlias = setting('CUSTOM_TOOLS_SANDBOX_ENABLED', flag).means('Alias of SANDBOX, which wins.');

/** The variables with SANDBOX from its alias, if only that is set. */
function withAlias(variables: NodeJS.ProcessEnv, problems: string[]): NodeJS.ProcessEnv {
  const enabled = valueOf(sandboxAlias, variables, problems);
  if (enabled === undefined || textOf(variables, 'SANDBOX')) return variables;
  return { ...variables, SANDBOX: enabled ? 'enforce' : 'off' };
}

/** Folders other than FILES_DIR, by the variable that sets them. */
const otherFolders = ({ dataDir, customTools, playbooks, recorder }: SettingValues) => ({
  TOOLKEEPER_DATA_DIR: dataDir,
  CUSTOM_TOOLS_DIR: customTools.dir,
  PLAYBOOKS_DIR: playbooks.dir,
  ...(recorder.journalDir && { JOURNAL_DIR: recorder.journalDir }),
});

/** The language model; undefined unless both its URL and its name are set. */
const llmOf = ({ url, model, apiKey }: SettingValues['llm']) =>
  url && model ? { url, model, apiKey } : undefined;

/** Adds values derived from several settings. */
function toConfig(values: SettingValues) {
  const { dataDir, server, tracing } = values;
  const { url, model, ...endpoint } = values.embeddings;
  const { url: service, ...dataStorage } = values.dataStorage;
  const journalDir = values.recorder.journalDir ?? join(dataDir, 'journal');
  const loopback = isLoopback(server.host);
  return {
    ...values,
    root: projectRoot(),
    version: manifest().version,
    server: {
      ...server,
      /** Whether only this machine can reach the server, unless through a proxy. */
      loopback,
      drainDelayMs: server.drainDelayMs ?? (loopback ? 0 : 5_000),
      /** Without a slash at its end. */
      publicUrl: server.publicUrl?.replace(/\/+$/, ''),
      /** The path of `publicUrl`; empty if there is none. */
      publicPath: new URL(server.publicUrl ?? 'http://localhost').pathname.replace(/\/+$/, ''),
    },
    /** `adminKeyFile`: the generated key of a server on loopback without ADMIN_API_KEY. */
    auth: { ...values.auth, adminKeyFile: join(dataDir, 'admin.key') },
    /** `keys` empty: the keys in `keyFile` are used. */
    secrets: { keys: values.secrets.keys ?? [], keyFile: join(dataDir, 'secrets.key') },
    bundles: {
      ...values.bundles,
      maxUnpackedBytes: 8 * values.bundles.maxBytes,
      /** Skipped by the search for `tool.json` files. */
      dir: join(values.customTools.dir, '.bundles'),
    },
    commands: {
      ...values.commands,
      interpreters: new Set(values.commands.interpreters),
      allowedRoots: allowedRoots(values, loopback),
    },
    recorder: { ...values.recorder, journalDir },
    spans: { ...values.spans, journalDir: join(journalDir, 'spans') },
    tracing: { ...tracing, ...exporterOf(tracing) },
    /** Undefined: playbooks are searched lexically only. */
    embeddings: url && model ? { url, model, ...endpoint } : undefined,
    /** Undefined: features that need a language model are off. */
    llm: llmOf(values.llm),
    /** Undefined: playbooks come from the local catalogue. */
    dataStorage: service === undefined ? undefined : { ...dataStorage, url: service },
  };
}

/** The absolute folders in which programs may be run; undefined: anywhere. */
function allowedRoots({ commands, customTools }: SettingValues, loopback: boolean): string[] | undefined {
  const roots = commands.allowedRoots ?? [];
  // Callers on loopback control the machine already. Otherwise only programs in the tools' folder may be run.
  if (roots.length === 0) return loopback ? undefined : [customTools.dir];
  return roots.includes('*') ? undefined : roots.map((path) => resolve(projectRoot(), path));
}

/**
 * Whether traces are exported, and where to. They are not unless an endpoint is configured: OpenTelemetry's default would try
 * to reach a receiver on each host.
 */
function exporterOf({ disabled, exporter, endpoint, tracesEndpoint }: SettingValues['tracing']) {
  const kind = exporter ?? (endpoint || tracesEndpoint ? 'otlp' : 'none');
  const base = (endpoint ?? 'http://localhost:4318').replace(/\/+$/, '');
  return { on: kind === 'otlp' && !disabled, url: tracesEndpoint ?? `${base}/v1/traces` };
}

/** Reads a host variable that a tool's process may inherit. All others are withheld. */
export function hostVariable(name: string): string | undefined {
  return process.env[name];
}

const ownVariables = new Set(variablesIn(settings));

/** Whether a variable is a setting of this server. It may be secret, so tools never get it. */
export const isServersOwn = (name: string): boolean => ownVariables.has(name) || name.startsWith('OTEL_');

function variablesIn(tree: unknown): string[] {
  if (tree instanceof Setting) return [tree.variable];
  return typeof tree === 'object' && tree !== null ? Object.values(tree).flatMap(variablesIn) : [];
}
