import { sha256 } from '../../base/common/canonical-json.js';

/** The names that a platform accepts. */
interface NameRule {
  readonly maxLength: number;
  /** Characters that the platform refuses. */
  readonly refused: RegExp;
}

/** OpenAI's rule. Platforms that pass their tools on to OpenAI need it, too. */
const openAiNames: NameRule = { maxLength: 64, refused: /[^a-zA-Z0-9_-]/g };
/** Name rules of each format. */
export const nameRules = {
  openai: openAiNames,
  'openai-responses': openAiNames,
  anthropic: { maxLength: 128, refused: openAiNames.refused },
  mcp: { maxLength: 128, refused: /[^a-zA-Z0-9_.-]/g },
  distri: openAiNames,
  holmes: openAiNames,
} as const;

/** Anthropic's rule for the properties of a tool's input. */
export const propertyNames: NameRule = { maxLength: 64, refused: /[^a-zA-Z0-9_.-]/g };

const hashLength = 8;

/**
 * Aliases for names of tools, or of properties, that a platform refuses: the accepted characters of the name, cut, and the
 * first characters of its hash. An alias is never the name of another tool or property, nor its alias.
 */
export class PlatformNames {
  /** Aliases by name, for each rule. */
  private readonly aliases = new Map<NameRule, Map<string, string>>();
  /** Names by their aliases. */
  private readonly owners = new Map<string, string>();

  /** @param names names of all tools, or of all properties of one tool */
  constructor(names: ReadonlySet<string>, rules: readonly NameRule[] = Object.values(nameRules)) {
    const inOrder = [...names].sort();
    for (const rule of new Set(rules)) {
      const aliases = new Map<string, string>();
      for (const name of inOrder) {
        if (isAccepted(name, rule)) continue;
        const alias = this.freeAlias(name, rule, names);
        aliases.set(name, alias);
        this.owners.set(alias, name);
      }
      this.aliases.set(rule, aliases);
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

  /** The first alias of a name that is not taken. */
  private freeAlias(name: string, rule: NameRule, names: ReadonlySet<string>): string {
    for (let attempt = 0; ; attempt++) {
      const alias = aliasOf(name, rule, attempt);
      const owner = this.owners.get(alias);
      if (!names.has(alias) && (owner === undefined || owner === name)) return alias;
    }
  }
}

const isAccepted = (name: string, { maxLength, refused }: NameRule): boolean =>
  name !== '' && name.length <= maxLength && name.search(refused) < 0;

/** An alias of a name. @param attempt 0, or more if the alias before was taken */
function aliasOf(name: string, { maxLength, refused }: NameRule, attempt: number): string {
  const hash = sha256(attempt === 0 ? name : `${name} ${attempt}`);
  const start = name.replaceAll(refused, '_').slice(0, maxLength - hashLength - 1);
  return `${start}_${hash.slice(0, hashLength)}`;
}
