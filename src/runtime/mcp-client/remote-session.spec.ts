import { SessionCookies } from './remote-session.js';

const after = (headers: string | string[] | undefined, url = 'http://a.example/v1/mcp', fixed?: string) => {
  const cookies = new SessionCookies(new URL(url), fixed);
  cookies.store(headers);
  return cookies.header();
};

it.each<[string | string[] | undefined, string | undefined]>([
  [undefined, undefined],
  ['node=b; Path=/; HttpOnly', 'node=b'],
  ['node=b', 'node=b'],
  [['a=1; Path=/', 'b=2; SameSite=Lax'], 'a=1; b=2'],
  [['a=1', 'a=2'], 'a=2'],
  ['AWSALB=x/y+z==; Expires=Fri, 01 Jan 2999 00:00:00 GMT', 'AWSALB=x/y+z=='],
  ['a="quoted"; Max-Age=60', 'a="quoted"'],
  ['a=; Path=/', 'a='],
  ['a=1; Expires=someday', 'a=1'],
  [['a=1', 'a=; Max-Age=0'], undefined],
  [['a=1', 'a=; max-age = -1'], undefined],
  [['a=1', 'a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT'], undefined],
  [['a=1', 'b=2', 'a=gone; Max-Age=0'], 'b=2'],
  ['a=1; Path=/v1', 'a=1'],
  ['a=1; Domain=.A.example', 'a=1'],
  [['a=1', 'a=2; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT'], 'a=2'],
  ['a=1; Secure', undefined],
  ['=1', undefined],
  ['lonely', undefined],
  ['a=1\u0001', undefined],
  [`a=${'x'.repeat(5_000)}`, undefined],
])('%j leads to the header %j', (headers, expected) => expect(after(headers)).toBe(expected));

it('sends a secure cookie over https', () => {
  expect(after('a=1; Secure', 'https://a.example/mcp')).toBe('a=1');
});

it("puts the registration's own cookies in front, and sends them alone", () => {
  expect(after('node=b', undefined, 'token=t')).toBe('token=t; node=b');
  expect(after(undefined, undefined, 'token=t')).toBe('token=t');
});

it('keeps the newest cookies of a server that sets too many, or too large ones', () => {
  const many = after(Array.from({ length: 2_000 }, (_, n) => `c${n}=${n}`)) ?? '';
  expect(many.length).toBeLessThanOrEqual(8_192);
  expect(many).toMatch(/^c\d{4}=.*; c1999=1999$/);
  const large = after(Array.from({ length: 9 }, (_, n) => `c${n}=${'x'.repeat(3_000)}`)) ?? '';
  expect(large.length).toBeLessThanOrEqual(8_192);
  expect(large).toContain('c8=');
});
