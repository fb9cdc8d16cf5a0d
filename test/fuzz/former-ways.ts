import { results, shapes, templates } from './request-shapes.js';

/** What a caller's value once cost on the main thread, without the limits that are asked about now. */
export const formerWays: Readonly<Record<string, () => unknown>> = {
  ...Object.fromEntries(
    Object.entries(shapes).map(([shape, make]) => [
      `an input: ${shape}`,
      () => {
        const parsed: unknown = JSON.parse(JSON.stringify({ input: make(1_000_000) }));
        return [depthOf(parsed), namesOf(parsed, ''), JSON.stringify(sorted(parsed)), hasNul(parsed)];
      },
    ]),
  ),
  ...Object.fromEntries(
    results
      .filter(({ file }) => file.endsWith('-3600000.json'))
      .map(({ what, text }) => [
        what,
        () => {
          const parsed: unknown = JSON.parse(text());
          return [depthOf(parsed), hasNul(parsed), JSON.stringify(parsed)];
        },
      ]),
  ),
  ...Object.fromEntries(
    Object.entries(templates).map(([name, make]) => [
      `a template: ${name}`,
      () => {
        const { template, variables } = make(30_000);
        const [, inner = ''] = /^\{\{#a\}\}(.*)\{\{\/a\}\}$/s.exec(template) ?? [];
        const path = inner.replaceAll(/[{}]/g, '');
        return Array.isArray(variables.a) && variables.a.map((member) => valueAt(path, member)).join('');
      },
    ]),
  ),
};

const valueAt = (path: string, member: unknown): unknown =>
  path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], member);

const membersOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : [];

const depthOf = (value: unknown): number =>
  1 + membersOf(value).reduce((deepest, [, member]) => Math.max(deepest, depthOf(member)), 0);

const namesOf = (value: unknown, path: string): string[] =>
  membersOf(value).flatMap(([name, member]) => [`${path}/${name}`, ...namesOf(member, `${path}/${name}`)]);

const hasNul = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.includes('\0')
    : membersOf(value).some(([name, member]) => name.includes('\0') || hasNul(member));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  const members = membersOf(value).map(([name, member]) => [name, sorted(member)] as const);
  return members.length === 0 ? value : Object.fromEntries(members.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
