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

/** Virtual MCP servers. Those in memory follow the table, whichever replica changes it. */
@Injectable()
export class VirtualServers implements OnModuleInit, OnApplicationBootstrap {
  private known: ReadonlyMap<string, VirtualServer> = new Map();
  private readonly logger = new Logger(VirtualServers.name);
  /** Emits when one was made, changed or deleted. */
  readonly changes = new TypedEvents<void>((error) => this.logger.error(error));

  constructor(
    private readonly dataSource: DataSource,
    private readonly follower: TableFollower,
    private readonly registry: ToolRegistry,
    keys: KnownKeys,
  ) {
    keys.virtualServer = (name) => this.known.get(name);
    const forget = (): void => this.known.forEach((server) => server.forget());
    registry.changes.subscribe(forget);
    registry.offers.subscribe(forget);
  }

  /** Limits a request to the virtual server that its path names. @throws Problem `not_found`, `forbidden` */
  enter(request: FastifyRequest): FastifyRequest {
    const { server } = request.params as { readonly server?: string };
    const principal = principalOf(request);
    const { mcpServers: bound } = principal;
    if (bound && !bound.includes(server ?? '')) {
      const places = bound.map((name) => `/mcp/${name}`).join(' or ');
      throw new Problem('forbidden', `This key uses MCP at ${places} alone`);
    }
    if (server !== undefined) request.principal = { ...principal, choice: this.get(server) };
    return request;
  }

  /** Sorted by name. */
  all(): VirtualServer[] {
    return [...this.known.values()];
  }

  /** @throws Problem `not_found` */
  get(name: string): VirtualServer {
    const server = this.known.get(name);
    if (server) return server;
    throw new Problem(
      'not_found',
      `There is no virtual MCP server ${name}: GET /api/v1/mcp-servers lists them`,
    );
  }

  /** @throws Problem `conflict` for a name that is taken, or would be by two members; `invalid_request` */
  async save(server: StoredServer, isNew: boolean): Promise<VirtualServer> {
    const { name, members, instructions } = server;
    if (isNew && this.known.has(name))
      throw new Problem('conflict', `There is a virtual MCP server ${name} already`);
    members.forEach(refuseUnclear);
    const { clashes } = new VirtualServer(server, this.registry).contents;
    if (clashes.length > 0)
      throw new Problem(
        'conflict',
        `Two members would have one name, give one another by "as": ${clashes.join('; ')}`,
      );
    await this.dataSource.query(
      `INSERT INTO mcp_servers (name, members, instructions) VALUES ($1, $2, $3)
       ON CONFLICT (name) DO UPDATE SET members = excluded.members, instructions = excluded.instructions`,
      [name, JSON.stringify(members), instructions],
    );
    await this.look();
    return this.get(name);
  }

  /** @throws Problem `not_found` */
  async delete(name: string): Promise<void> {
    this.get(name);
    await this.dataSource.query('DELETE FROM mcp_servers WHERE name = $1', [name]);
    await this.look();
  }

  /** A server that listens knows them. */
  async onModuleInit(): Promise<void> {
    await retryAtStart(() => this.look());
  }

  onApplicationBootstrap(): void {
    this.follower.follow({ table: 'mcp_servers', what: 'virtual MCP servers' }, () => this.look());
  }

  /** Brings changes of the table into memory. */
  private async look(): Promise<void> {
    const sql = 'SELECT name, members, instructions FROM mcp_servers ORDER BY name COLLATE "C"';
    const rows: StoredServer[] = await this.dataSource.query(sql);
    const before = this.all().map(({ stored }) => stored);
    if (isDeepStrictEqual(before, rows)) return;
    this.known = new Map(rows.map((row) => [row.name, new VirtualServer(row, this.registry)]));
    this.changes.emit();
  }
}

/** @throws Problem `invalid_request` for a member that names nothing, or several things by one name */
function refuseUnclear(member: Member, place: number): void {
  const { tag, server, as, description } = member;
  const named = memberKinds.filter((kind) => member[kind] !== undefined);
  const isClear = named.length === 1 && ((tag ?? server) === undefined || (as ?? description) === undefined);
  const detail = `must have one of ${memberKinds.join(', ')}; a tag or a server has neither "as" nor "description"`;
  if (!isClear) throw invalidRequest({ pointer: `/members/${place}`, detail });
}
