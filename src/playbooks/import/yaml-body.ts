import type { FastifyInstance } from 'fastify';
import { refuseType } from '../../rest/raw-body.js';

export const yamlTypes = ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/x-yaml'] as const;
/** Some two thousand playbooks. */
const maxYamlBytes = 1_048_576;

/** Lets one route take YAML, which it gets as bytes; the others answer 415 to it, as before. */
export function acceptYaml(fastify: FastifyInstance, route: string): void {
  fastify.addContentTypeParser(
    [...yamlTypes],
    { parseAs: 'buffer', bodyLimit: maxYamlBytes },
    (request, body, done) => {
      if (request.routeOptions.url === route) done(null, body);
      else refuseType(request, done);
    },
  );
}
