import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { fastify, type FastifyInstance, type FastifyServerOptions } from 'fastify';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { ProblemFilter } from './common/problem.filter.js';
import { ToolsService } from './tools/tools.service.js';

/** What is plain enough for the lane; every other spelling of the route goes to Nest's, which answers alike. */
const calls = /^\/api\/v1\/tools\/[\w.-]{1,128}\/execute$/;

/**
 * Lets calls of tools in by a Fastify instance of their own, behind the same server: around each request Nest's adapter
 * runs eight hooks, a body parser, its router and its handler, together more than the rest of a call but its tool.
 * The controller declares and documents the route and serves it where the lane does not. The door asks for the scope
 * itself, so that the lane needs none of Nest's guards.
 * @param dress adds the hooks that every request passes
 */
export async function openCallLane(
  app: NestFastifyApplication,
  options: FastifyServerOptions,
  dress: (instance: FastifyInstance) => void,
): Promise<void> {
  const lane = fastify(options);
  const tools = app.get(ToolsService);
  const filter = new ProblemFilter();
  dress(lane);
  lane.setErrorHandler((error, request, reply) => {
    filter.catch(error, new ExecutionContextHost([request, reply]));
  });
  lane.post('/api/v1/tools/:name/execute', (request, reply) => tools.execute(request, reply));
  await lane.ready();
  const server: Server = app.getHttpServer();
  const others = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    if (isPlainCall(request)) lane.routing(request, response);
    else for (const listener of others) listener(request, response);
  });
}

function isPlainCall({ method, url = '', headers }: IncomingMessage): boolean {
  const isJson = headers['content-type']?.startsWith('application/json') ?? false;
  return method === 'POST' && isJson && calls.test(url);
}
