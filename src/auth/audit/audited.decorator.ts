import { SetMetadata, type Type } from '@nestjs/common';

export const AUDITED = 'toolkeeper:audited';

export const AUDITED_READ = 'toolkeeper:audited-read';

/** This route shows what tools and models were given and answered: each read by an operator leaves an audit entry. */
export const AuditedRead = (): MethodDecorator => SetMetadata(AUDITED_READ, true);

/** The parameters of a route's path. */
export type PathParams = Readonly<Record<string, string>>;

/** The state of a resource that a controller's routes change, for the audit to hash. */
export interface AuditedResource {
  /** The path parameters of what an answer made, where the path of the request names nothing. */
  made(answer: object): PathParams;
  /** The state whose hash is kept, as JSON without secrets; undefined: there is no such resource. */
  stateOf(params: PathParams): Promise<unknown>;
}

/** The audit keeps hashes of the state before and after each act; `resource` is a provider that tells it. */
export const Audited = (resource: Type<AuditedResource>): ClassDecorator => SetMetadata(AUDITED, resource);
