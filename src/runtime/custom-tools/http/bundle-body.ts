import { ApiBody } from '@nestjs/swagger';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../../../base/common/errors.js';
import { refuseType } from '../../../web/rest/raw-body.js';
import type { Upload } from '../bundles/bundles.js';

/* Routes that take a bundle as their body. */
const bundleRoute = '/api/v1/custom-tools/:name/bundle';
const bundleRoutes = new Set([bundleRoute, `${bundleRoute}/try`]);
/** Media types of a bundle. */
export const bundleTypes = ['application/gzip', 'application/x-gzip', 'application/x-tgz'] as const;

export const ApiArchive = (): MethodDecorator => ApiBody({ schema: { type: 'string', format: 'binary' } });

/** Lets the routes of bundles accept a gzipped tar. Their handlers read it from the stream, because it may be large. */
export function acceptBundles(fastify: FastifyInstance): void {
  fastify.addContentTypeParser([...bundleTypes], (request, _payload, done) => {
    if (bundleRoutes.has(request.routeOptions.url ?? '')) done(null);
    else refuseType(request, done);
  });
}

/** The upload in a request. @throws Problem `invalid_request` with status 415 for another media type */
export function uploadIn({ headers, raw }: FastifyRequest): Upload {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
  const length = headers['content-length'];
  const bytes = length === undefined ? undefined : Number(length);
  if ((bundleTypes as readonly string[]).includes(type)) return { body: raw, bytes };
  throw new Problem('invalid_request', `This route takes a gzipped tar (${bundleTypes[0]})`, { status: 415 });
}
