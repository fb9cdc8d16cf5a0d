import { sha256 } from '../../base/common/canonical-json.js';

/** The names that a platform accepts. */
export interface NameRule {
  readonly longest: number;
  /** Characters that the platform refuses. */
  readonly refused: RegExp;
}

/** OpenAI's rule. Platforms that pass their tools on to OpenAI need it, too. */
const openAiNames: NameRule = { longest: 64, refused: /[^a-zA-Z0-9_-]/g };
/** Name rules of each format. */
export const nameRules = {
  openai: openAiNames,
  'openai-responses': openAiNames,
  anthropic: { longest: 128, refused: openAiNames.refused },
  mcp: { longest: 128, refused: /[^a-zA-Z0-9_.-]/g },
  distri: openAiNames,
  holmes: openAiNames,
} as const;

/** Anthropic's rule for the properties of a tool's input. */
export const propertyNames: NameRule = { longest: 64, refused: /[^a-zA-Z0-9_.-]/g };

const hashLength = 8;

/**
 * Aliases for names of tools, or of properties, that a platform refuses: the accepted characters of the name, cut, and the
 * first characters of its hash. An alias is never the name of another tool or property, nor its alias.
 */
export class PlatformNames {
  private readonly aliases = new Map<NameRule, Map<string, string>>();
  private readonly owners = new Map<string, string>();

  /** @param names names of all tools, or of all properties of one tool */
  constructor(names: ReadonlySet<string>, rules: readonly NameRule[] = Object.values(nameRules)) {
    const inOrder = [...names].sort();
    for (const rule of new Set(rules)) {
      const own = new Map<string, string>();
      for (const name of inOrder) {
        if (isAccepted(name, rule)) continue;
        const alias = this.unclaimed(name, rule, names);
        own.set(name, alias);
        this.owners.set(alias, name);
      }
      this.aliases.set(rule, own);
    }
  }

  /** The alias of a name, or the name itself if the platform accepts it. */
  shown(name: string, rule: NameRule): string {
    return this.aliases.get(rule)?.get(name) ?? name;
  }

  /** The name of the tool or property with this alias. */
  ownerOf(alias: string): string | undefined {
    return this.owners.get(alias);
  }

  private unclaimed(name: string, rule: NameRule, names: ReadonlySet<string>): string {
    for (let again = 0; ; again++) {
      const alias = aliasOf(name, rule, again);
      const owner = this.owners.get(alias);
      if (!names.has(alias) && (owner === undefined || owner === name)) return alias;
    }
  }
}

const isAccepted = (name: string, { longest, refused }: NameRule): boolean =>
  name !== '' && name.length <= longest && name.search(refused) < 0;

function aliasOf(name: string, { longest, refused }: NameRule, again: number): string {
  const hash = sha256(again === 0 ? name : `${name} ${again}`);
  const start = name.replaceAll(refused, '_').slice(0, longest - hashLength - 1);
  return `${start}_${hash.slice(0, hashLength)}`;
}
