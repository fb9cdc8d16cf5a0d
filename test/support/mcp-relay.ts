import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { join } from 'node:path';
import { built } from './built.js';

export interface RelayedClient {
  readonly client: Client;
  readonly pid: number;
}

/** The official client, which starts `toolkeeper mcp` as a desktop client does. */
export async function relayedClient(
  variables: Readonly<Record<string, string>>,
  program = join(built(), 'bin', 'toolkeeper.mjs'),
): Promise<RelayedClient> {
  const { PATH, HOME } = process.env;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, 'mcp'],
    env: { ...(PATH && { PATH }), ...(HOME && { HOME }), ...variables },
    stderr: 'ignore',
  });
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport, { timeout: 120_000 });
  return { client, pid: transport.pid ?? 0 };
}
