import { isObject, type JsonObject } from '../../base/common/json.js';

/** A member of a tool's input that calls repeat in a header, so that proxies can route by it. */
export interface RepeatedMember {
  readonly path: readonly string[];
  readonly header: string;
}

/** Keyword of a schema that names the header in which calls repeat the member. */
export const headerKeyword = 'x-mcp-header';
/** Prefix of the header's name on the wire. */
const prefix = 'mcp-param-';
/** A token of HTTP (RFC 9110, 5.6.2). */
const token = /^[\w!#$%&'*+.^`|~-]+$/;
/** Types of members that can be written into a header. */
const types: readonly unknown[] = ['string', 'integer', 'boolean'];
/** Keywords whose values are data, not schemas. */
const dataKeywords = new Set(['default', 'const', 'enum', 'examples']);
const rule = `an ${headerKeyword} stands for one property that is a string, an integer or a boolean, and is a unique token of HTTP`;

/** Finds the members that calls repeat in headers. @returns the members, or why clients must not use the tool */
export function repeatedMembers(schema: unknown): readonly RepeatedMember[] | string {
  const members: RepeatedMember[] = [];
  /**
   * Collects the members in a part of the schema.
   * @param path undefined for parts that describe no single property of the input
   * @returns whether all annotations in the part are valid
   */
  const collect = (part: unknown, path: readonly string[] | undefined): boolean => {
    if (Array.isArray(part)) return part.every((each) => collect(each, undefined));
    if (!isObject(part)) return true;
    return Object.entries(part).every(([name, value]) => {
      if (name === headerKeyword) return path !== undefined && addMember(part, path, members);
      if (name === 'properties' && path && isObject(value))
        return Object.entries(value).every(([key, member]) => collect(member, [...path, key]));
      return dataKeywords.has(name) || collect(value, undefined);
    });
  };
  return collect(schema, []) ? members : `invalid: ${rule}`;
}

/** Adds the annotated member. @returns whether its annotation is valid */
function addMember(schema: JsonObject, path: readonly string[], members: RepeatedMember[]): boolean {
  const { [headerKeyword]: header, type } = schema;
  if (path.length === 0 || !types.includes(type) || typeof header !== 'string' || !token.test(header))
    return false;
  const name = `${prefix}${header.toLowerCase()}`;
  const isNew = members.every((each) => each.header !== name);
  members.push({ path, header: name });
  return isNew;
}

/** Members that the header `Mcp-Name` repeats, by method. */
export const memberInName: ReadonlyMap<unknown, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/** Headers that repeat a request of the modern era. */
export function requestHeaders(
  revision: string,
  method: string,
  params: JsonObject,
  repeated: ReadonlyMap<string, readonly RepeatedMember[]>,
): Record<string, string> {
  const headers: Record<string, string> = { 'mcp-protocol-version': revision, 'mcp-method': method };
  const name = params[memberInName.get(method) ?? ''];
  if (typeof name === 'string') headers['mcp-name'] = headerText(name);
  if (method !== 'tools/call') return headers;
  for (const { path, header } of repeated.get(String(name)) ?? []) {
    const value = path.reduce<unknown>(memberOf, params['arguments']);
    if (['string', 'boolean'].includes(typeof value) || Number.isSafeInteger(value))
      headers[header] = headerText(String(value));
  }
  return headers;
}

/** An own member of an object; undefined if there is none. */
export const memberOf = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** A text as a header value. Other texts than printable ASCII without spaces at the ends need base64. */
const headerText = (text: string): string =>
  /^[!-~]([\t -~]*[!-~])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`;
