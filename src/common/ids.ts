import { v7 } from 'uuid';

/** A UUIDv7: unique, and sorted by the time of its making. */
export const newId = (): string => v7();

const requestIdPattern = /^[\w.:@/+=-]{1,128}$/;

/** The caller's request id where it is safe to log and to echo, else a new one. */
export function requestIdFrom(header: string | string[] | undefined): string {
  return typeof header === 'string' && requestIdPattern.test(header) ? header : newId();
}
