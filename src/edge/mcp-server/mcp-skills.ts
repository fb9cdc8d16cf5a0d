import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type PlaybookSkill, PlaybookSkills } from '../../agents/playbooks/playbook-skills.js';
import { PlaybookCatalogueService } from '../../agents/playbooks/playbook-catalogue.service.js';
import type { JsonObject } from '../../base/common/json.js';
import { ToolRegistry } from '../../call/door/tool-registry.js';
import { principalOf } from '../../web/auth/principal.decorator.js';
import { pageOf } from '../../web/rest/page.js';
import { errorOf, invalidParams } from './mcp-messages.js';
import {
  type Answered,
  type Asked,
  cursorIn,
  done,
  fresh,
  itemsOnPage,
  type Methods,
  textIn,
} from './mcp-methods.js';

export const skillsExtension = 'io.modelcontextprotocol/skills';
const mimeType = 'text/markdown';

/** Playbooks as skills: listed with digests, read as resources. */
@Injectable()
export class McpSkills {
  readonly methods: Methods = {
    'skills/list': { only: 'modern', handle: (asked) => this.list(asked) },
    'skills/get': { only: 'modern', handle: (asked) => this.get(asked) },
  };

  constructor(
    private readonly skills: PlaybookSkills,
    playbooks: PlaybookCatalogueService,
    registry: ToolRegistry,
  ) {
    playbooks.changed.subscribe(() => registry.offers.emit());
  }

  /** The files as they are listed among resources. */
  async resources(request: FastifyRequest): Promise<{ key: string; item: JsonObject }[]> {
    const skills = await this.of(request);
    return [...skills.values()].map(({ uri, frontmatter: { name, description }, size }) => ({
      key: uri,
      item: { uri, name, description, mimeType, size },
    }));
  }

  /** @returns undefined if there is no such file */
  async read(uri: string, request: FastifyRequest): Promise<object | undefined> {
    const text = (await this.of(request)).has(uri) ? await this.skills.read(uri) : undefined;
    return text === undefined ? undefined : { contents: [{ uri, mimeType, text }] };
  }

  /** A set of tools holds no playbooks. */
  private async of(request: FastifyRequest): Promise<ReadonlyMap<string, PlaybookSkill>> {
    return principalOf(request).choice ? new Map() : this.skills.all();
  }

  private async list(asked: Asked): Promise<Answered> {
    const skills = [...(await this.of(asked.request)).values()];
    const { data, nextCursor } = pageOf(skills, ({ uri }) => uri, itemsOnPage, cursorIn(asked.message));
    const page = { skills: data.map(entryOf), ...(nextCursor !== null && { nextCursor }) };
    return done(asked, fresh(page));
  }

  private async get(asked: Asked): Promise<Answered> {
    const uri = textIn(asked.message.params, 'uri');
    const skill = (await this.of(asked.request)).get(uri);
    if (skill) return done(asked, fresh({ skill: entryOf(skill) }));
    return errorOf(asked.message.id, invalidParams, `There is no skill ${uri}`);
  }
}

const entryOf = ({ uri, frontmatter, digest, size }: PlaybookSkill): object => ({
  uri,
  frontmatter,
  resources: [{ uri, digest, size }],
});
