import { ValidateBy, type ValidationOptions } from 'class-validator';

const isClean = (value: unknown): boolean => typeof value === 'string' && !value.includes('\0');

/** A NUL ends a C string early: no command, path or name may hold one. */
export function NoNulCharacters(options?: ValidationOptions): PropertyDecorator {
  const validator = { validate: isClean, defaultMessage: () => 'must not hold NUL characters' };
  return ValidateBy({ name: 'noNulCharacters', validator }, options);
}

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Environment variables: names as a shell takes them, values text. */
export function IsStringMap(): PropertyDecorator {
  const validate = (value: unknown): boolean =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.entries(value).every(([name, text]) => variableName.test(name) && isClean(text));
  const defaultMessage = (): string => 'must map variable names (letters, digits, _) to text';
  return ValidateBy({ name: 'isStringMap', validator: { validate, defaultMessage } });
}
