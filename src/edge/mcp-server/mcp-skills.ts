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
  type McpAnswer,
  type Incoming,
  cursorIn,
  answerWith,
  uncached,
  itemsOnPage,
  type Methods,
  textIn,
} from './mcp-methods.js';

export const skillsExtension = 'io.modelcontextprotocol/skills';
const mimeType = 'text/markdown';

/** Playbooks as MCP skills: listed with digests, read as resources. */
@Injectable()
export class McpSkills {
  readonly methods: Methods = {
    'skills/list': { only: 'modern', handle: (incoming) => this.list(incoming) },
    'skills/get': { only: 'modern', handle: (incoming) => this.get(incoming) },
  };

  constructor(
    private readonly skills: PlaybookSkills,
    playbooks: PlaybookCatalogueService,
    registry: ToolRegistry,
  ) {
    playbooks.changed.subscribe(() => registry.offers.emit());
  }

  /** The skills' files as items of the resource list. */
  async resources(request: FastifyRequest): Promise<{ key: string; item: JsonObject }[]> {
    const skills = await this.skillsFor(request);
    return [...skills.values()].map(({ uri, frontmatter: { name, description }, size }) => ({
      key: uri,
      item: { uri, name, description, mimeType, size },
    }));
  }

  /** A skill's file; undefined if it does not exist. */
  async read(uri: string, request: FastifyRequest): Promise<object | undefined> {
    const text = (await this.skillsFor(request)).has(uri) ? await this.skills.read(uri) : undefined;
    return text === undefined ? undefined : { contents: [{ uri, mimeType, text }] };
  }

  /** All skills; none at a virtual server. */
  private async skillsFor(request: FastifyRequest): Promise<ReadonlyMap<string, PlaybookSkill>> {
    return principalOf(request).choice ? new Map() : this.skills.all();
  }

  private async list(incoming: Incoming): Promise<McpAnswer> {
    const skills = [...(await this.skillsFor(incoming.request)).values()];
    const { data, nextCursor } = pageOf(skills, ({ uri }) => uri, itemsOnPage, cursorIn(incoming.message));
    const page = { skills: data.map(entryOf), ...(nextCursor !== null && { nextCursor }) };
    return answerWith(incoming, uncached(page));
  }

  private async get(incoming: Incoming): Promise<McpAnswer> {
    const uri = textIn(incoming.message.params, 'uri');
    const skill = (await this.skillsFor(incoming.request)).get(uri);
    if (skill) return answerWith(incoming, uncached({ skill: entryOf(skill) }));
    return errorOf(incoming.message.id, invalidParams, `There is no skill ${uri}`);
  }
}

const entryOf = ({ uri, frontmatter, digest, size }: PlaybookSkill): object => ({
  uri,
  frontmatter,
  resources: [{ uri, digest, size }],
});
