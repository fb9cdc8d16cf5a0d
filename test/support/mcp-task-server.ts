import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { WebSite } from './web-site.js';

/**
 * A server of the official SDK of 2025-11-25 with sessions, whose tools run as tasks alone.
 * Tools: work {ms, text}, fail, endless.
 */
export class McpTaskServer {
  readonly store = new InMemoryTaskStore();
  private readonly sessions = new Map<string, StreamableHTTPServerTransport>();
  private lastTask = '';
  site!: WebSite;

  static async start(): Promise<McpTaskServer> {
    const server = new McpTaskServer();
    server.site = await WebSite.start((request, response, body) => {
      const id = String(request.headers['mcp-session-id']);
      void (async () => {
        const transport = server.sessions.get(id) ?? (await server.session());
        const message: unknown = request.method === 'POST' ? JSON.parse(body.toString()) : undefined;
        await transport.handleRequest(request, response, message);
      })();
    });
    return server;
  }

  /** Status of the task that was made last. */
  async lastStatus(): Promise<string | undefined> {
    return (await this.store.getTask(this.lastTask))?.status;
  }

  async stop(): Promise<void> {
    this.store.cleanup();
    await this.site.stop();
  }

  private async session(): Promise<StreamableHTTPServerTransport> {
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.sessions.set(id, transport),
    });
    const capabilities = { tasks: { cancel: {}, requests: { tools: { call: {} } } } };
    const server = new McpServer({ name: 'tasks', version: '1' }, { capabilities, taskStore: this.store });
    const inputSchema = { ms: z.number().optional(), text: z.string().optional() };
    for (const name of ['work', 'fail', 'endless'])
      server.experimental.tasks.registerToolTask(
        name,
        { inputSchema, execution: { taskSupport: 'required' } },
        {
          createTask: async ({ ms = 1, text = 'done' }, { taskStore, taskRequestedTtl }) => {
            const task = await taskStore.createTask({ ttl: taskRequestedTtl ?? null, pollInterval: 60 });
            this.lastTask = task.taskId;
            const result = { content: [{ type: 'text' as const, text }], isError: name === 'fail' };
            const status = name === 'fail' ? 'failed' : 'completed';
            if (name !== 'endless')
              setTimeout(() => void taskStore.storeTaskResult(task.taskId, status, result), ms);
            return { task };
          },
          getTask: (_input, { taskId, taskStore }) => taskStore.getTask(taskId),
          getTaskResult: async (_input, { taskId, taskStore }) => ({
            content: [],
            ...(await taskStore.getTaskResult(taskId)),
          }),
        },
      );
    await server.connect(transport);
    return transport;
  }
}
