import { ValidateIf } from 'class-validator';

/** May be left out; `null` is no way of leaving it out. */
export const Optional = (): PropertyDecorator => ValidateIf((_body, value) => value !== undefined);
