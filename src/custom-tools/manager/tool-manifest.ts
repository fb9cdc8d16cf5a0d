import { parse } from 'secure-json-parse';
import { Problem } from '../../common/errors.js';
import { messageOf } from '../../common/message-of.js';

/**
 * The content of a tool.json. The text of a file that is no JSON stays in it: it may be a link to what nobody may read.
 * @throws Problem `invalid_request`
 */
export function manifestIn(content: string): object {
  try {
    return parse(content) as object;
  } catch (error) {
    const message = messageOf(error);
    if (message.includes('prototype')) throw new Problem('invalid_request', 'it has a member __proto__');
    const where = / at position \d+ \(line \d+ column \d+\)/.exec(message)?.[0] ?? '';
    throw new Problem('invalid_request', `it is no JSON${where}`);
  }
}
