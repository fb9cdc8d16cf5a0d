import { describes } from './server-offers.js';

describe('a template', () => {
  it.each([
    ['test://items/{id}', 'test://items/7'],
    ['file:///{+path}', 'file:///a/b/c.md'],
    ['file:///{path}.md', 'file:///a.b.md'],
    ['db://{table}/rows{?limit,offset}', 'db://users/rows?limit=1'],
    ['db://{table}/rows{?limit,offset}', 'db://users/rows'],
    ['repo://{owner}/{name}/blob{/path*}', 'repo://a/b/blob/src/index.ts'],
  ])('%s describes %s', (template, uri) => {
    expect(describes(template, uri)).toBe(true);
  });

  it.each([
    ['test://items/{id}', 'test://items/'],
    ['test://items/{id}', 'test://items/7/parts'],
    ['test://items/{id}', 'test://others/7'],
    ['test://items/{id}/parts', 'test://items/7/part'],
    ['test://items', 'test://items'],
    ['{+a}{+b}{+c}x', 'y'.repeat(100_000)],
  ])('%s does not describe %s', (template, uri) => {
    expect(describes(template, uri)).toBe(false);
  });
});
