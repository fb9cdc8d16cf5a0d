import { Limit, Ruled } from '../../../web/rest/dto.js';

/** An id for each replica, of which there are 256 at most. */
const idsPattern = /^[a-z0-9]{1,16}-\d{1,15}(,[a-z0-9]{1,16}-\d{1,15}){0,255}$/;

export class LogsQuery {
  @Limit(100) readonly limit!: number;
  @(Ruled('must be the id of a log entry, or nextSince', (ids) => idsPattern.test(String(ids)))({
    required: false,
    example: 'mhq3k2x19f2c6b-41,mhq3k2x4a07d31-7',
    description: 'Only what came after: `nextSince` of an earlier page; absent: the latest entries',
  }))
  readonly since?: string;
}
