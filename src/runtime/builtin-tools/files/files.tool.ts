import { defineTool } from '../../../web/contract/define-tool.js';
import type { Tool } from '../../../web/contract/tool.js';
import { cut } from '../cut.js';
import { callerMistake } from '../failures.js';
import { filePath, type ProjectFiles } from './project-files.js';

/** The most bytes of one character in UTF-8. */
const maxBytesEach = 4;

export const readFile = (files: ProjectFiles): Tool =>
  defineTool<{ path: string; maxLength: number }>({
    name: 'readFile',
    description: 'Read a text file from the files folder, such as one that writeFile wrote.',
    input: {
      type: 'object',
      properties: {
        path: filePath,
        maxLength: {
          type: 'integer',
          minimum: 1,
          maximum: 100_000,
          default: 50_000,
          description: 'Characters at most',
        },
      },
      required: ['path'],
      additionalProperties: false,
    },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
    tags: ['files'],
    // Others wrote what it hands over: an error in it is no failure of the call.
    semanticErrors: 'off',
    run: async ({ path, maxLength }, { context }) => {
      const { bytes, size } = await files.read(context.projectId, path, maxLength * maxBytesEach);
      const text = textOf(bytes, bytes.length < size);
      if (text === undefined) throw callerMistake(`${path} is no text in UTF-8`);
      const content = cut(text, maxLength);
      return { path, content, size, truncated: bytes.length < size || content.length < text.length };
    },
  });

/** @param isPart the last character may lack its end */
function textOf(bytes: Buffer, isPart: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isPart });
  } catch {
    return undefined;
  }
}

export const writeFile = (files: ProjectFiles): Tool =>
  defineTool<{ path: string; content: string; mode: 'overwrite' | 'append' }>({
    name: 'writeFile',
    description: 'Write a text file to the files folder. Folders on the way are made.',
    input: {
      type: 'object',
      properties: {
        path: filePath,
        content: { type: 'string', description: 'The text' },
        mode: {
          enum: ['overwrite', 'append'],
          default: 'overwrite',
          description: 'What happens to a file that is there',
        },
      },
      required: ['path', 'content'],
      additionalProperties: false,
    },
    annotations: { readOnly: false, idempotent: false, destructive: true, openWorld: false },
    tags: ['files'],
    run: async ({ path, content, mode }, { context }) => {
      const written = await files.write(context.projectId, path, content, mode);
      return { path, ...written, mode };
    },
  });
