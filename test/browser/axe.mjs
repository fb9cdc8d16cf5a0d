import { AxeBuilder } from '@axe-core/playwright';

const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Violations of WCAG on a page, a line each. @param where stands before each */
export async function violationsOf(page, where) {
  const { violations } = await new AxeBuilder({ page }).withTags(rules).analyze();
  return violations.map(
    ({ id, nodes }) => `${where}: ${id} at ${nodes.map(({ target }) => target).join(', ')}`,
  );
}
