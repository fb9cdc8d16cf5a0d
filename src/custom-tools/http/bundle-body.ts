import type { FastifyInstance } from 'fastify';
import { Problem } from '../../common/errors.js';

export const bundleRoute = '/api/v1/custom-tools/:name/bundle';
export const bundleTypes = ['application/gzip', 'application/x-gzip', 'application/x-tgz'] as const;

/** Lets one route take a gzipped tar, which its handler reads from the request itself: it may be large. */
export function acceptBundles(fastify: FastifyInstance): void {
  fastify.addContentTypeParser([...bundleTypes], (request, _payload, done) => {
    if (request.routeOptions.url === bundleRoute) done(null);
    else done(new Problem('invalid_request', 'This route takes JSON', { status: 415 }));
  });
}
