import { applyDecorators } from '@nestjs/common';
import { IsObject, ValidateBy, type ValidationOptions } from 'class-validator';
import { storableJson, storableText } from '../../common/pg-text.js';
import { ToTheLetter } from '../../common/validation.pipe.js';

const isClean = (value: unknown): boolean =>
  typeof value === 'string' && storableText(value) === value && value.isWellFormed();

/** A NUL ends a C string early, and half a surrogate pair has no bytes: no command, path or name may hold one. */
export function NoNulCharacters(options?: ValidationOptions): PropertyDecorator {
  const validator = { validate: isClean, defaultMessage: () => 'must not hold NUL characters' };
  return ValidateBy({ name: 'noNulCharacters', validator }, options);
}

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Environment variables: names as a shell takes them, values text. `removable`: null takes one away. */
export function IsStringMap({ removable = false } = {}): PropertyDecorator {
  const validate = (value: unknown): boolean =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.entries(value).every(
      ([name, text]) => variableName.test(name) && (isClean(text) || (removable && text === null)),
    );
  const defaultMessage = (): string =>
    `must map variable names (letters, digits, _) to text${removable ? ' or null' : ''}`;
  return applyDecorators(
    ToTheLetter(),
    ValidateBy({ name: 'isStringMap', validator: { validate, defaultMessage } }),
  );
}

/** A JSON object that is kept to the letter, as the database can keep it. */
export function JsonObject(): PropertyDecorator {
  const validate = (value: unknown): boolean => storableJson(value) === JSON.stringify(value);
  const defaultMessage = (): string => 'must not hold NUL characters or halves of surrogate pairs';
  return applyDecorators(
    ToTheLetter(),
    IsObject(),
    ValidateBy({ name: 'jsonObject', validator: { validate, defaultMessage } }),
  );
}
