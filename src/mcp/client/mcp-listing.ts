import { canonicalJson, sha256 } from '../../common/canonical-json.js';

type Tools = readonly Readonly<Record<string, unknown>>[];

/** The tools that the processes of one server list now. */
export class McpListing {
  /** As they are listed; absent until a process has started. */
  tools: Tools | undefined;
  /** SHA-256 of the list; absent until there is one. */
  hash: string | undefined;

  /** @param tools what a process that has ended listed just now */
  constructor(tools?: Tools) {
    if (tools) this.take(tools);
  }

  /** @returns whether it is another list than before */
  take(tools: Tools): boolean {
    const hash = sha256(canonicalJson(tools));
    if (hash === this.hash) return false;
    this.tools = tools;
    this.hash = hash;
    return true;
  }
}
