import { defineTool } from '../../tool-contract/define-tool.js';
import type { Tool } from '../../tool-contract/tool.js';
import type { Pages } from './pages.js';

interface Input {
  readonly url: string;
  readonly maxLength: number;
}

export const fetchPage = (pages: Pages): Tool =>
  defineTool<Input>({
    name: 'fetchPage',
    description: 'Read one web page, PDF or text file at a URL. Answers its text without markup.',
    input: {
      type: 'object',
      properties: {
        url: { type: 'string', pattern: '\\S', maxLength: 8_192, description: 'http or https' },
        maxLength: {
          type: 'integer',
          minimum: 100,
          maximum: 50_000,
          default: 10_000,
          description: 'Characters of the text at most',
        },
      },
      required: ['url'],
      additionalProperties: false,
    },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: true },
    tags: ['web'],
    // Others wrote what it hands over: an error in it is no failure of the call.
    semanticErrors: 'off',
    upstream: 'The page',
    run: ({ url, maxLength }, { signal }) => pages.read(url, maxLength, signal),
  });
