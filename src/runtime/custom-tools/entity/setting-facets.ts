import type { Type } from '@nestjs/common';
import { DECORATORS } from '@nestjs/swagger';
import { Column, type ColumnType } from 'typeorm';

/** Properties of a setting in addition to its validation rules. */
interface Facets {
  readonly initial: unknown;
  readonly answerDecorator: PropertyDecorator | undefined;
}
/** Key of the metadata with the facets of all settings of a class, by name. */
const facets = Symbol('facets');
/** The settings of a class in the order of their declaration. */
const facetsOf = ({ prototype }: Type): [name: string, facets: Facets][] =>
  Object.entries((Reflect.getMetadata(facets, prototype as object) ?? {}) as Record<string, Facets>);

/**
 * Declares a setting's column and its place in answers. Decorators below it, which run before it, are its rules for requests.
 * @param type of the column
 * @param answerDecorator decorator of the member in answers; absent: answers omit it
 * @param initial value if a registration omits it: null makes the column nullable; absent: the default of `ApiProperty`
 */
export const Setting =
  (type: ColumnType, answerDecorator?: PropertyDecorator, initial?: unknown): PropertyDecorator =>
  (prototype, key) => {
    const name = String(key).replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
    Column({ type, name, nullable: initial === null })(prototype, key);
    const documented = Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES, prototype, key) as
      { readonly default?: unknown } | undefined;
    const own: Facets = { answerDecorator, initial: initial === undefined ? documented?.default : initial };
    const others = (Reflect.getMetadata(facets, prototype) ?? {}) as Record<string, Facets>;
    Reflect.defineMetadata(facets, { ...others, [key]: own }, prototype);
  };

/** The values of settings that a registration omits. */
export const initialOf = <T extends object>(settings: Type<T>): T =>
  Object.fromEntries(facetsOf(settings).map(([name, { initial }]) => [name, initial])) as T;

/** The class of the settings that answers show, like Nest's mapped types. */
export function ShownType<View extends object>(settings: Type): Type<View> {
  class ShownSettings {}
  for (const [name, { answerDecorator }] of facetsOf(settings)) {
    const type: unknown = Reflect.getMetadata('design:type', settings.prototype as object, name);
    Reflect.defineMetadata('design:type', type, ShownSettings.prototype, name);
    answerDecorator?.(ShownSettings.prototype, name);
  }
  return ShownSettings as Type<View>;
}
