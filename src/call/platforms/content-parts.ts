import { isObject, type JsonObject } from '../../base/common/json.js';

/** A file in base64. `kind` is the type of its content block; unknown members are empty. */
export type FilePart = Readonly<Record<'kind' | 'mime' | 'data' | 'uri', string>>;
/** A part of a result for a model. */
export type Part = string | FilePart;

/** Types of files that are texts. */
const textTypes = /^text\/|^application\/(json|xml|yaml)$|\+(json|xml)$/;
/** Types of pictures that platforms accept. */
const pictureTypes = /^image\/(png|jpeg|gif|webp)$/;
const pdf = 'application/pdf';
/** A text that is a file in base64, or as a data URL. */
const encodedFile = /^data:[^,]{0,200};base64,|^[\w+/-]{256,}={0,2}$/;

/** A block that clients of MCP accept, as a part. */
export function partOf({ type, text, data, mimeType, resource, name, uri }: JsonObject): Part {
  if (type === 'text') return textIn(text);
  if (type === 'resource_link') return `[${[name, mimeType].map(textIn).join(' ').trim()}: ${textIn(uri)}]`;
  if (!isObject(resource)) return fileOf(textIn(type), mimeType, data);
  if (typeof resource['text'] === 'string') return resource['text'];
  const file = fileOf('resource', resource['mimeType'], resource['blob'], resource['uri']);
  return textTypes.test(file.mime) ? Buffer.from(file.data, 'base64').toString() : file;
}

/** A file part. @param encoded base64, also as a data URL or with line breaks */
export function fileOf(kind: string, mimeType: unknown, encoded: unknown, uri?: unknown): FilePart {
  const mime = textIn(mimeType).toLowerCase().replace(/;.*$/, '').replace('image/jpg', 'image/jpeg').trim();
  const data = textIn(encoded).replace(/^data:[^,]*,|\s+/g, '');
  return { kind, mime, data, uri: textIn(uri) };
}

/** A text; empty for any other value. */
const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The JSON of a value, with a mark for each file in it. */
export const jsonWithoutFiles = (value: unknown): string =>
  JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'string' && encodedFile.test(member)
      ? `[${member.length} characters of base64]`
      : member,
  );

/** A part as text; a file becomes a mark. */
export function textOfPart(part: Part): string {
  if (typeof part === 'string') return part;
  const bytes = Math.floor((part.data.replace(/=+$/, '').length * 3) / 4);
  const where = part.uri === '' ? '' : `: ${part.uri}`;
  return `[${`${part.kind} ${part.mime}`.trim()}, ${bytes} bytes${where}]`;
}

export const textOfParts = (parts: readonly Part[]): string => parts.map(textOfPart).join('\n');

/**
 * One text, or blocks if the platform accepts a file of the parts.
 * @param toBlock returns undefined for a file that the platform does not accept
 */
export function blocksOf(
  parts: readonly Part[],
  textType: string,
  toBlock: (file: FilePart) => object | undefined,
): string | object[] {
  // A platform refuses the whole message for a file that is not base64, or a blank text.
  const isSound = ({ data }: FilePart): boolean =>
    data.length % 4 === 0 && data !== '' && !/[^A-Za-z0-9+/=]/.test(data);
  const fileBlocks = parts.map((part) =>
    typeof part !== 'string' && isSound(part) ? toBlock(part) : undefined,
  );
  if (fileBlocks.every((block) => block === undefined)) return textOfParts(parts);
  return parts.flatMap((part, index) => {
    const text = textOfPart(part);
    return fileBlocks[index] ?? (text.trim() === '' ? [] : { type: textType, text });
  });
}

/** A file for Anthropic's Messages API; undefined if it does not accept the file. */
export function anthropicFile({ mime, data }: FilePart): object | undefined {
  const source = { type: 'base64', media_type: mime, data };
  if (pictureTypes.test(mime)) return { type: 'image', source };
  return mime === pdf ? { type: 'document', source } : undefined;
}

/** A file for OpenAI's Responses API; undefined if it does not accept the file. */
export function responsesFile({ mime, data, uri }: FilePart): object | undefined {
  const url = `data:${mime};base64,${data}`;
  if (pictureTypes.test(mime)) return { type: 'input_image', image_url: url };
  const filename = /[^/\\]+\.pdf$/i.exec(uri)?.[0] ?? 'document.pdf';
  return mime === pdf ? { type: 'input_file', filename, file_data: url } : undefined;
}
