/** The echo tool as a server of the official MCP SDK, for the pool's benchmark. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const server = new Server({ name: 'bench_echo', version: '1.0.0' }, { capabilities: { tools: {} } });
server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
  content: [],
  structuredContent: params.arguments,
}));
await server.connect(new StdioServerTransport());
