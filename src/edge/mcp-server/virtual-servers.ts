import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { isDeepStrictEqual } from 'node:util';
import { invalidRequest, Problem } from '../../base/common/errors.js';
import { TypedEvents } from '../../base/common/typed-events.js';
import { TableFollower } from '../../base/database/table-follower.js';
import { retryAtStart } from '../../base/database/transient-error.js';
import { ToolRegistry } from '../../call/door/tool-registry.js';
import { KnownKeys } from '../../web/auth/known-keys.js';
import { principalOf } from '../../web/auth/principal.decorator.js';
import { type Member, memberKinds, type StoredServer, VirtualServer } from './virtual-server.js';

/** Virtual MCP servers in memory. They follow the table, which any replica may change. */
@Injectable()
export class VirtualServers implements OnModuleInit, OnApplicationBootstrap {
  /** All servers by name, in the order of their names. */
  private servers: ReadonlyMap<string, VirtualServer> = new Map();
  private readonly logger = new Logger(VirtualServers.name);
  /** Emits after a server was created, changed or deleted. */
  readonly changes = new TypedEvents<void>((error) => this.logger.error(error));

  constructor(
    private readonly dataSource: DataSource,
    private readonly follower: TableFollower,
    private readonly registry: ToolRegistry,
    keys: KnownKeys,
  ) {
    keys.findVirtualServer = (name) => this.servers.get(name);
    const forgetContents = (): void => this.servers.forEach((server) => server.forgetContents());
    registry.changes.subscribe(forgetContents);
    registry.offers.subscribe(forgetContents);
  }

  /** Limits a request to the virtual server that its path names. @throws Problem `not_found`, `forbidden` */
  enter(request: FastifyRequest): FastifyRequest {
    const { server } = request.params as { readonly server?: string };
    const principal = principalOf(request);
    const { mcpServers: allowed } = principal;
    if (allowed && !allowed.includes(server ?? '')) {
      const paths = allowed.map((name) => `/mcp/${name}`).join(' or ');
      throw new Problem('forbidden', `This key uses MCP at ${paths} alone`);
    }
    if (server !== undefined) request.principal = { ...principal, choice: this.get(server) };
    return request;
  }

  all(): VirtualServer[] {
    return [...this.servers.values()];
  }

  /** A server. @throws Problem `not_found` */
  get(name: string): VirtualServer {
    const server = this.servers.get(name);
    if (server) return server;
    const detail = `There is no virtual MCP server ${name}: GET /api/v1/mcp-servers lists them`;
    throw new Problem('not_found', detail);
  }

  /** Stores a server. @throws Problem `conflict` for a name that is taken, or that two members have; `invalid_request` */
  async save(server: StoredServer, { isNew }: { isNew: boolean }): Promise<VirtualServer> {
    const { name, members, instructions } = server;
    if (isNew && this.servers.has(name))
      throw new Problem('conflict', `There is a virtual MCP server ${name} already`);
    members.forEach(checkMember);
    const clashes = new VirtualServer(server, this.registry).contents.clashes.join('; ');
    if (clashes !== '')
      throw new Problem('conflict', `Two members have the same name, give one another by "as": ${clashes}`);
    await this.dataSource.query(
      `INSERT INTO mcp_servers (name, members, instructions) VALUES ($1, $2, $3)
       ON CONFLICT (name) DO UPDATE SET members = excluded.members, instructions = excluded.instructions`,
      [name, JSON.stringify(members), instructions],
    );
    await this.reload();
    return this.get(name);
  }

  /** @throws Problem `not_found` */
  async delete(name: string): Promise<void> {
    this.get(name);
    await this.dataSource.query('DELETE FROM mcp_servers WHERE name = $1', [name]);
    await this.reload();
  }

  /** Reads all servers before this process listens. */
  async onModuleInit(): Promise<void> {
    await retryAtStart(() => this.reload());
  }

  onApplicationBootstrap(): void {
    this.follower.follow({ table: 'mcp_servers', what: 'virtual MCP servers' }, () => this.reload());
  }

  private async reload(): Promise<void> {
    const sql = 'SELECT name, members, instructions FROM mcp_servers ORDER BY name COLLATE "C"';
    const rows: StoredServer[] = await this.dataSource.query(sql);
    const before = this.all().map(({ stored }) => stored);
    if (isDeepStrictEqual(before, rows)) return;
    this.servers = new Map(rows.map((row) => [row.name, new VirtualServer(row, this.registry)]));
    this.changes.emit();
  }
}

/** @throws Problem `invalid_request` unless a member names exactly one thing, and renames only a single item */
function checkMember(member: Member, index: number): void {
  const { tag, server, as, description } = member;
  const kinds = memberKinds.filter((kind) => member[kind] !== undefined);
  const isGroup = tag !== undefined || server !== undefined;
  const isRenamed = as !== undefined || description !== undefined;
  if (kinds.length === 1 && !(isGroup && isRenamed)) return;
  const detail = `must have one of ${memberKinds.join(', ')}; a tag or a server has neither "as" nor "description"`;
  throw invalidRequest({ pointer: `/members/${index}`, detail });
}
