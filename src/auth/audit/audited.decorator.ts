import { SetMetadata } from '@nestjs/common';

export const AUDITED = 'toolkeeper:audited';

export const AUDITED_READ = 'toolkeeper:audited-read';

/** This route shows what tools and models were given and answered: each read by an operator leaves an audit entry. */
export const AuditedRead = (): MethodDecorator => SetMetadata(AUDITED_READ, true);

/** Audit entries of what these routes make name it by this member of the answer. */
export const Audited = (member: string): ClassDecorator => SetMetadata(AUDITED, member);
