import { Injectable } from '@nestjs/common';
import { Problem } from '../../../base/common/errors.js';
import { plainDefinitions, reviewedIn, reviewTools } from '../../mcp-client/mcp-review.js';
import type { Principal } from '../../../web/contract/principal.js';
import { Accounts, type AccountServer } from '../accounts/accounts.js';
import { LaunchPreparation } from '../launch/launch-preparation.js';
import { ToolInspector } from '../launch/tool-inspector.js';
import { CustomToolsRepository } from '../state/custom-tools.repository.js';
import { CustomToolManager, type SavedTool } from './custom-tool-manager.js';

/** Approves the tools of MCP servers that list them only to callers with an account. */
@Injectable()
export class FirstListing {
  constructor(
    private readonly repository: CustomToolsRepository,
    private readonly preparation: LaunchPreparation,
    private readonly inspector: ToolInspector,
    private readonly manager: CustomToolManager,
    private readonly accounts: Accounts,
  ) {}

  /** The server with an id. @throws Problem `not_found` if it was removed */
  async serverOf(id: string): Promise<AccountServer> {
    const tool = (await this.repository.list()).find((each) => each.id === id && each.credentials === 'user');
    if (!tool) throw new Problem('not_found', 'The MCP server of this link was removed');
    return this.preparation.accountServer(tool);
  }

  /**
   * Approves the tools that a server lists to its first caller, as the registration does for other servers.
   * @param by the author of the new revision
   * @returns the problem, if any, as a sentence
   */
  async approve(name: string, user: string, by = user): Promise<string | undefined> {
    const tool = await this.repository.get(name);
    if (tool.definitions) return undefined;
    try {
      const { handshake = {} } = await this.inspector.inspect(tool, undefined, user);
      const definitions = plainDefinitions(reviewTools([], reviewedIn(handshake)));
      const edit = (stored: typeof tool): void => {
        stored.definitions ??= definitions;
      };
      await this.manager.store({ name, edit }, { source: 'approve', by });
      return undefined;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return `Its tools could not be listed: ${error.detail}.`;
    }
  }

  /**
   * Approves the tools of a server with accounts at its registration, if the author's access token can be exchanged for
   * one of the server.
   */
  async approveForAuthor(saved: SavedTool, author: Principal): Promise<SavedTool> {
    if (saved.url === null || saved.definitions) return saved;
    const owner = this.accounts.ownerOf(this.preparation.accountServer(saved), author);
    if (owner === undefined || owner === author.keyId) return saved;
    const problem = await this.approve(saved.name, owner, author.userId);
    const tool = await this.repository.get(saved.name);
    return problem === undefined ? tool : { ...tool, warnings: [problem] };
  }
}
