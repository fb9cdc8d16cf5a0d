import { SetMetadata, type Type } from '@nestjs/common';

export const AUDITED = 'toolkeeper:audited';

/** The parameters of a route's path. */
export type PathParams = Readonly<Record<string, string>>;

/** What the audit asks of the resources that a controller's routes change. */
export interface AuditedResource {
  /** The path parameters of what an answer made, where the path of the request names nothing. */
  made(answer: object): PathParams;
  /** The state whose hash is kept, as JSON without secrets; undefined: there is no such resource. */
  stateOf(params: PathParams): Promise<unknown>;
}

/** The audit keeps hashes of the state before and after each act; `resource` is a provider that tells it. */
export const Audited = (resource: Type<AuditedResource>): ClassDecorator => SetMetadata(AUDITED, resource);
