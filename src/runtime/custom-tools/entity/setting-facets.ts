import type { Type } from '@nestjs/common';
import { DECORATORS } from '@nestjs/swagger';
import { Column, type ColumnType } from 'typeorm';

/** A setting beside its rules for a request: its value if none is given, and how answers show it. */
interface Facets {
  readonly initial?: unknown;
  readonly view?: PropertyDecorator;
}
const facets = Symbol('facets');
const facetsOf = (prototype: object): Readonly<Record<string, Facets>> =>
  (Reflect.getMetadata(facets, prototype) ?? {}) as Record<string, Facets>;

function add(prototype: object, key: string | symbol, facet: Facets): void {
  const all = facetsOf(prototype);
  Reflect.defineMetadata(facets, { ...all, [key]: { ...all[String(key)], ...facet } }, prototype);
}

/**
 * A column of the row.
 * @param initial the value if a registration gives none; null: the column is nullable; absent: the documented default
 */
export const Stored =
  (type: ColumnType, initial?: unknown): PropertyDecorator =>
  (prototype, key) => {
    const name = String(key).replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
    Column({ type, name, nullable: initial === null })(prototype, key);
    const documented = Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES, prototype, key) as
      { readonly default?: unknown } | undefined;
    add(prototype, key, { initial: initial === undefined ? documented?.default : initial });
  };

/** How answers show a setting; one without it is not shown. */
export const InAnswers =
  (view: PropertyDecorator): PropertyDecorator =>
  (prototype, key) =>
    add(prototype, key, { view });

/** Values of the settings that are not given. */
export const initialOf = <T extends object>({ prototype }: Type<T>): T =>
  Object.fromEntries(
    Object.entries(facetsOf(prototype as object)).map(([name, { initial }]) => [name, initial]),
  ) as T;

/** The settings as answers show them, like one of Nest's mapped types. */
export function ShownType<View extends object>({ prototype }: Type): Type<View> {
  class ShownSettings {}
  for (const [name, { view }] of Object.entries(facetsOf(prototype as object))) {
    const type: unknown = Reflect.getMetadata('design:type', prototype as object, name);
    Reflect.defineMetadata('design:type', type, ShownSettings.prototype, name);
    view?.(ShownSettings.prototype, name);
  }
  return ShownSettings as Type<View>;
}
