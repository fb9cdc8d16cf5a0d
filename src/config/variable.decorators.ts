import { applyDecorators } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { IsBoolean, IsInt, Max, Min, ValidateBy } from 'class-validator';
import { keyValuesIn } from './key-values.js';
import { secretKeysIn } from './secret-keys.js';

/** A whole number between `min` and `max`, both included. */
export function WholeNumber(min: number, max: number): PropertyDecorator {
  return applyDecorators(
    IsInt(),
    Min(min),
    Max(max),
    Type(() => Number),
  );
}

/** `true` or `false`; implicit conversion would read "false" as true. */
export function Flag(): PropertyDecorator {
  const words = new Map<unknown, boolean>([
    ['true', true],
    ['false', false],
  ]);
  return applyDecorators(
    IsBoolean(),
    Transform(({ value }: { value: unknown }) => words.get(value) ?? value),
  );
}

const isWebUrl = (text: string): boolean => /^https?:$/.test(URL.parse(text.trim())?.protocol ?? '');

/** A service's base URL. A password in it would not be sent: a variable of its own names the token. */
export function BaseUrl(): PropertyDecorator {
  const validate = (value: unknown): boolean => {
    if (typeof value !== 'string' || !isWebUrl(value)) return false;
    const { username, password, search, hash } = new URL(value);
    return username + password + search + hash === '';
  };
  const defaultMessage = (): string => 'must be an http or https URL without password and query';
  return ValidateBy({ name: 'baseUrl', validator: { validate, defaultMessage } });
}

/** One http or https URL. The message must not quote the value: a URL may hold a secret. */
export function WebUrl(): PropertyDecorator {
  const validate = (value: unknown): boolean => typeof value === 'string' && isWebUrl(value);
  const defaultMessage = (): string => 'must be an http or https URL';
  return ValidateBy({ name: 'webUrl', validator: { validate, defaultMessage } });
}

/** `key=value` pairs, comma-separated. The message must not quote the value: headers are secrets. */
export function KeyValueList(): PropertyDecorator {
  const validate = (value: unknown): boolean => typeof value === 'string' && keyValuesIn(value) !== undefined;
  const defaultMessage = (): string => 'must be key=value pairs, separated by commas, percent-encoded';
  return ValidateBy({ name: 'keyValueList', validator: { validate, defaultMessage } });
}

/** One or more http or https URLs, comma-separated. The message must not quote the value: a URL may hold a secret. */
export function WebUrls(): PropertyDecorator {
  const validate = (value: unknown): boolean => typeof value === 'string' && value.split(',').every(isWebUrl);
  const defaultMessage = (): string => 'must be http or https URLs, separated by commas';
  return ValidateBy({ name: 'webUrls', validator: { validate, defaultMessage } });
}

/** One or more keys of 32 bytes, comma-separated. The message must not quote the value. */
export function SecretKeys(): PropertyDecorator {
  const validate = (value: unknown): boolean =>
    typeof value === 'string' && secretKeysIn(value) !== undefined;
  const defaultMessage = (): string =>
    'must be keys of 32 bytes each, hex or base64, separated by commas (openssl rand -base64 32)';
  return ValidateBy({ name: 'secretKeys', validator: { validate, defaultMessage } });
}
