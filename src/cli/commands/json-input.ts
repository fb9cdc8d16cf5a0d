import { readFileSync } from 'node:fs';
import { isObject } from '../../common/json.js';
import { messageOf } from '../../common/message-of.js';
import { CliError, exit } from '../exit.js';

/**
 * The JSON object that an argument stands for: itself, `@file`, or `-` for stdin.
 * @throws CliError `usage`
 */
export function inputOf(argument: string): Record<string, unknown> {
  try {
    const text =
      argument === '-'
        ? readFileSync(0, 'utf8')
        : argument.startsWith('@')
          ? readFileSync(argument.slice(1), 'utf8')
          : argument;
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
    throw new Error('it is no object');
  } catch (error) {
    throw new CliError(
      `the input must be a JSON object, such as '{"query": "x"}', @file.json, or - for stdin: ${messageOf(error)}`,
      exit.usage,
    );
  }
}
