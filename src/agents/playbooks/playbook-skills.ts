import { Injectable, Logger } from '@nestjs/common';
import { sha256 } from '../../base/common/canonical-json.js';
import type { PlaybookRow } from './playbook-views.dto.js';
import { PlaybooksRepository, type VersionKey } from './playbooks.repository.js';

/** Max characters of a skill's description (Agent Skills). */
const maxDescriptionLength = 1_024;

/** A playbook as a skill with one file. */
export interface PlaybookSkill {
  readonly uri: string;
  /** The frontmatter of the file (Agent Skills). */
  readonly frontmatter: { readonly name: string; readonly description: string; readonly metadata: object };
  /** `sha256:` and the hash of the file. */
  readonly digest: string;
  /** Bytes of the file. */
  readonly size: number;
  readonly key: VersionKey;
}

/** Skills by URI. */
type Skills = ReadonlyMap<string, PlaybookSkill>;

/** The latest active version of each playbook as a skill. */
@Injectable()
export class PlaybookSkills {
  private readonly logger = new Logger(PlaybookSkills.name);
  /** The skills at the revision of the catalogue at which they were read. */
  private known: { readonly revision: string; readonly skills: Skills } | undefined;

  constructor(private readonly repository: PlaybooksRepository) {}

  /** Skills by URI, sorted. */
  async all(): Promise<Skills> {
    const revision = await this.repository.revision();
    if (this.known?.revision !== revision)
      this.known = { revision, skills: this.byUri(await this.repository.active()) };
    return this.known.skills;
  }

  /** The text of the skill's file; undefined if there is no such skill. */
  async read(uri: string): Promise<string | undefined> {
    const { key } = (await this.all()).get(uri) ?? {};
    const row = key && (await this.repository.find(key.id, key.version));
    return row && fileOf(row);
  }

  /** The skills by URI. Of several playbooks with the same URI the first one is used. */
  private byUri(rows: readonly PlaybookRow[]): Skills {
    const skills = new Map<string, PlaybookSkill>();
    for (const skill of rows.map(skillOf)) {
      const { uri, key } = skill;
      const other = skills.get(uri);
      if (!other) skills.set(uri, skill);
      else
        this.logger.warn(`Playbook ${key.id} is no skill: the playbook ${other.key.id} has its URI, ${uri}`);
    }
    return new Map([...skills].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** A skill's name: at most 64 lower-case letters, digits and single hyphens. */
function skillName(playbookId: string): string {
  const hyphenated = playbookId.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return hyphenated.slice(0, 64).replace(/-$/, '');
}

export function skillOf(row: PlaybookRow): PlaybookSkill {
  const frontmatter = frontmatterOf(row);
  const text = fileOf(row);
  return {
    uri: `skill://playbooks/${frontmatter.name}/SKILL.md`,
    frontmatter,
    digest: `sha256:${sha256(text)}`,
    size: Buffer.byteLength(text),
    key: { id: row.playbook_id, version: row.version },
  };
}

/** The sections of a playbook besides its description and procedure. */
function sectionsOf({ when_to_use, when_not_to_use, signals }: PlaybookRow): [string, string][] {
  const sections = { 'Use when': when_to_use, 'Not when': when_not_to_use, Signals: signals.join(', ') };
  return Object.entries(sections).flatMap(([title, text]) => (text ? [[title, text]] : []));
}

/** The frontmatter. Models choose by the description alone, so it contains as much as fits. */
function frontmatterOf(row: PlaybookRow): PlaybookSkill['frontmatter'] {
  const { playbook_id, version, name, description } = row;
  const parts = [[name, description], ...sectionsOf(row)].map((part) => part.join(': '));
  const summary = parts
    .join(' ')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .slice(0, maxDescriptionLength)
    .toWellFormed();
  return { name: skillName(playbook_id), description: summary, metadata: { playbook_id, version } };
}

/** The file of a skill. Members of the frontmatter are written as JSON, which is also YAML. */
function fileOf(row: PlaybookRow): string {
  const { name, description, content } = row;
  const head = Object.entries(frontmatterOf(row)).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  const procedure = typeof content === 'string' ? content.trimEnd() : JSON.stringify(content, null, 2);
  const fenceLengths = (procedure.match(/`+/g) ?? []).map(({ length }) => length);
  // Longer than all fences in the text.
  const fence = '`'.repeat(Math.max(2, ...fenceLengths) + 1);
  const sections = [...sectionsOf(row), ['Procedure', `${fence}\n${procedure}\n${fence}`]];
  const body = sections.map(([title, text]) => `## ${title}\n\n${text}\n`).join('\n');
  return `---\n${head.join('\n')}\n---\n\n# ${name}\n\n${description}\n\n${body}`;
}
