import { withOwnIcons } from './mcp-lists.js';

const server = 'https://tools.test:8443/mcp';

describe('an icon', () => {
  it.each([
    ['data:image/svg+xml;base64,PHN2Zy8+', server],
    ['data:image/png;base64,iVBORw0KGgo=', null],
    ['https://tools.test:8443/icons/a.png', server],
  ])('%s of %s is passed on', (src, url) => {
    const item = { name: 'a', icons: [{ src, sizes: ['any'] }] };
    expect(withOwnIcons(item, url)).toEqual(item);
  });

  it.each([
    ['https://tools.test/a.png', server],
    ['http://tools.test:8443/a.png', server],
    ['https://tools.test:8443.evil.test/a.png', server],
    ['https://tools.test:8443/a.png', null],
    ['data:text/html,<script>', server],
    ['javascript:alert(1)', server],
    [7, server],
    [undefined, null],
  ])('%s of %s is left out', (src, url) => {
    expect(withOwnIcons({ name: 'a', icons: [{ src }] }, url)).toEqual({ name: 'a' });
  });

  it('that is none is left out with its list', () => {
    expect(withOwnIcons({ name: 'a', icons: 'all' }, server)).toEqual({ name: 'a' });
    expect(withOwnIcons({ name: 'a' }, server)).toEqual({ name: 'a' });
  });
});
