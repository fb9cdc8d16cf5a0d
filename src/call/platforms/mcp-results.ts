import { canonicalJson } from '../../base/common/canonical-json.js';
import { isObject, type JsonObject, withoutNulls } from '../../base/common/json.js';
import type { ToolOutcome } from '../../web/contract/tool-outcome.js';
import { fileOf, jsonWithoutFiles, type Part, partOf, textOfPart } from './content-parts.js';

type Block = JsonObject & { readonly type: string };
/** A result in MCP's form, with blocks that clients accept. */
type McpResult = JsonObject & {
  readonly content: readonly Block[];
  /** Any JSON value from an MCP server, else an object. */
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
};

/** A text as it is, any other value as JSON. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

/** Reads the members of each kind of content that must be texts. */
const requiredTexts = new Map<unknown, (block: JsonObject) => unknown[]>([
  ['text', ({ text }) => [text]],
  ['image', ({ data, mimeType }) => [data, mimeType]],
  ['audio', ({ data, mimeType }) => [data, mimeType]],
  ['resource', ({ resource }) => (isObject(resource) ? textsOfResource(resource) : [null])],
  ['resource_link', ({ uri, name }) => [uri, name]],
]);

const textsOfResource = ({ uri, text, blob }: JsonObject): unknown[] => [uri, text ?? blob];

/**
 * A value as an MCP result. Nulls are left out, and unknown content becomes text.
 * @param isMcp whether an MCP server answered it: malformed content is then repaired
 * @returns undefined if it is of another tool and has another form
 */
export function mcpResult(value: unknown, isMcp: boolean): McpResult | undefined {
  const isObjectValue = isObject(value);
  const {
    content: givenContent,
    structuredContent,
    isError,
    ...others
  } = isObjectValue ? value : { content: value };
  const { _meta, ...members } = others;
  const hasStructure = structuredContent !== undefined && structuredContent !== null;
  const isStructured = isObject(structuredContent) || (isMcp && hasStructure);
  // An object without MCP's members is content itself.
  const isBare = isMcp && isObjectValue && !givenContent && !isStructured && Object.keys(members).length > 0;
  const found: unknown = withoutNulls(isBare ? members : (givenContent ?? []));
  const hasMcpForm = isObjectValue && Array.isArray(found) && (isStructured || found.some(isBlock));
  if (!isMcp && !hasMcpForm) return undefined;
  const content = (Array.isArray(found) ? found : [found]).map(blockOf);
  // A server may send structured content only, but a model reads text.
  const lacksText = isObject(structuredContent)
    ? content.length === 0
    : !contains(content.map(partOf), structuredContent ?? []);
  return {
    ...others,
    content: lacksText ? [...content, textBlock(structuredContent)] : content,
    ...(isStructured && { structuredContent }),
    ...(typeof isError === 'boolean' && { isError }),
  };
}

/** The result in MCP's form, or a server's own content of a failure, unless the tool's fallback replaces it. */
export function ownResult(outcome: ToolOutcome, isMcp: boolean): McpResult | undefined {
  if (outcome.status === 'success') return mcpResult(outcome.result, isMcp);
  const { data } = outcome.error;
  const isOwn = outcome.result === undefined && isObject(data) && data['isError'] === true;
  return isOwn ? mcpResult(data, true) : undefined;
}

/** The parts of a result for a model, without repetitions. */
export function partsOf(result: McpResult, isMcp: boolean): Part[] {
  const { content, structuredContent, isError: _isError, _meta, ...others } = result;
  const parts = content.map(partOf);
  if (structuredContent !== undefined && !contains(parts, structuredContent))
    parts.push(jsonWithoutFiles(structuredContent));
  if (!isMcp && Object.keys(others).length > 0) parts.push(jsonWithoutFiles(others));
  return parts;
}

/** Whether parts contain a value, as a whole or item by item. Many servers repeat it as the only member of an object. */
export function contains(parts: readonly Part[], value: unknown): boolean {
  const members = isObject(value) ? Object.values(value) : [];
  const inner = members.length === 1 ? members[0] : value;
  const contained = new Set(
    parts.flatMap((part) => [canonicalJson(part), isText(part) ? canonicalText(part) : []].flat()),
  );
  const isIn = (each: unknown): boolean => contained.has(canonicalJson(isBlock(each) ? partOf(each) : each));
  return isIn(value) || isIn(inner) || (Array.isArray(inner) && inner.every(isIn));
}

/** The canonical form of a text that is JSON. */
function canonicalText(text: string): string {
  try {
    return canonicalJson(JSON.parse(text));
  } catch {
    return text;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';

const textBlock = (value: unknown): Block => ({ type: 'text', text: textOf(value) });

const isBlock = (block: unknown): block is Block =>
  isObject(block) && requiredTexts.get(block['type'])?.(block).every(isText) === true;

/** The block, or its text if clients do not accept it. */
function blockOf(given: unknown): Block {
  if (isBlock(given)) return given;
  if (!isObject(given)) return textBlock(given);
  const { type, text, data, blob, mimeType } = given;
  if (type === 'text' || isText(text)) return textBlock(text ?? '');
  const encoded = data ?? blob;
  if (!isText(encoded)) return textBlock(jsonWithoutFiles(given));
  return textBlock(textOfPart(fileOf(isText(type) ? type : 'file', mimeType, encoded)));
}
