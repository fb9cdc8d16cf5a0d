import { Injectable, Logger } from '@nestjs/common';
import { sha256 } from '../../base/common/canonical-json.js';
import type { PlaybookRow } from './playbook-views.dto.js';
import { PlaybooksRepository, type VersionKey } from './playbooks.repository.js';

/** The fields of a version of which its skill is made. */
export type SkillSource = Pick<
  PlaybookRow,
  | 'playbook_id'
  | 'version'
  | 'name'
  | 'description'
  | 'when_to_use'
  | 'when_not_to_use'
  | 'signals'
  | 'content'
>;

/** What stands before the text of a skill's file (Agent Skills). */
export interface Frontmatter {
  readonly name: string;
  readonly description: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A playbook as a skill of one file. */
export interface PlaybookSkill {
  readonly uri: string;
  readonly frontmatter: Frontmatter;
  /** Of the file. */
  readonly digest: string;
  /** Of the file, in bytes. */
  readonly size: number;
  readonly key: VersionKey;
}

/** The limits of Agent Skills, in characters. */
const max = { name: 64, description: 1_024 };

/** The latest active version of each playbook as a skill. */
@Injectable()
export class PlaybookSkills {
  private readonly logger = new Logger(PlaybookSkills.name);
  private known:
    { readonly revision: string; readonly skills: ReadonlyMap<string, PlaybookSkill> } | undefined;

  constructor(private readonly repository: PlaybooksRepository) {}

  /** Skills by URI, sorted. */
  async all(): Promise<ReadonlyMap<string, PlaybookSkill>> {
    const revision = await this.repository.revision();
    if (this.known?.revision !== revision)
      this.known = { revision, skills: this.named(await this.repository.active()) };
    return this.known.skills;
  }

  /** @returns the text of the skill's file */
  async read({ key }: PlaybookSkill): Promise<string | undefined> {
    const row = await this.repository.find(key.id, key.version);
    return row && fileOf(row);
  }

  /** Two playbooks of one name would be one skill: that whose id is the name, else the first, is it. */
  private named(sources: readonly SkillSource[]): ReadonlyMap<string, PlaybookSkill> {
    const isExact = ({ playbook_id: id }: SkillSource): boolean => skillName(id) === id;
    const owners = new Map<string, SkillSource>();
    for (const source of [...sources.filter(isExact), ...sources.filter((each) => !isExact(each))]) {
      const { playbook_id: id } = source;
      const name = skillName(id);
      const owner = owners.get(name)?.playbook_id;
      if (owner === undefined) owners.set(name, source);
      else this.logger.warn(`Playbook ${id} is no skill: ${owner} has its name ${name}`);
    }
    const skills = [...owners.values()].map(skillOf).sort((a, b) => (a.uri < b.uri ? -1 : 1));
    return new Map(skills.map((skill) => [skill.uri, skill]));
  }
}

/** A name by the rules of Agent Skills: lower case, digits and single hyphens. */
export const skillName = (id: string): string =>
  id
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, max.name)
    .replace(/^-|-$/g, '');

function skillOf(source: SkillSource): PlaybookSkill {
  const frontmatter = frontmatterOf(source);
  const text = fileOf(source);
  const key = { id: source.playbook_id, version: source.version };
  const uri = `skill://playbooks/${frontmatter.name}/SKILL.md`;
  return { uri, frontmatter, digest: `sha256:${sha256(text)}`, size: Buffer.byteLength(text), key };
}

/** The description is all that a model chooses by. */
function frontmatterOf(source: SkillSource): Frontmatter {
  const { playbook_id: id, version, name, description, signals } = source;
  const parts = [
    `${name}: ${description}`,
    source.when_to_use && `Use when: ${source.when_to_use}`,
    source.when_not_to_use && `Not when: ${source.when_not_to_use}`,
    signals.length > 0 && `Signals: ${signals.join(', ')}`,
  ];
  const said = parts
    .filter(Boolean)
    .join(' ')
    .replace(/[\s\p{Cc}]+/gu, ' ');
  const cut = [...said].slice(0, max.description).join('').toWellFormed();
  return { name: skillName(id), description: cut, metadata: { playbook_id: id, version } };
}

/** The members of the frontmatter are JSON, which is YAML, too. */
function fileOf(source: SkillSource): string {
  const { name, description, when_to_use: when, when_not_to_use: not, signals, content } = source;
  const head = Object.entries(frontmatterOf(source)).map(
    ([key, value]) => `${key}: ${JSON.stringify(value)}`,
  );
  const [kind, steps] =
    typeof content === 'string' ? ['', content] : ['json', JSON.stringify(content, null, 2)];
  const parts = [
    ['---', ...head, '---'].join('\n'),
    `# ${name}`,
    description,
    when && `## When to use\n\n${when}`,
    not && `## When not to use\n\n${not}`,
    signals.length > 0 && `## Signals\n\n${signals.map((signal) => `- ${signal}`).join('\n')}`,
    `## Procedure\n\n${fenced(steps, kind)}`,
  ];
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}

/** A fence that the text itself does not end. */
function fenced(text: string, kind: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${kind}\n${text.trimEnd()}\n${fence}`;
}
