import { defineTool } from '../../tool-contract/define-tool.js';
import type { Tool } from '../../tool-contract/tool.js';
import { filePath, type ProjectFiles } from './project-files.js';

interface Input {
  readonly path: string;
  readonly content: string;
  readonly mode: 'overwrite' | 'append';
}

export const writeFile = (files: ProjectFiles): Tool =>
  defineTool<Input>({
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
