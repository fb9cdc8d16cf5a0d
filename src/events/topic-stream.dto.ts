import { TextList } from '../rest/dto.js';

export class TopicsQuery {
  @TextList({
    minItems: 1,
    maxItems: 20,
    minLength: 1,
    maxLength: 128,
    uniqueItems: true,
    example: ['events', 'logs:log_summary'],
    description:
      'Comma-separated: `events`, `logs:<tool>` for each tool whose log is followed, and `spans` or `spans:<project>` for spans that come in',
  })
  readonly topics!: string[];
}
