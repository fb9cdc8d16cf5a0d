/** The host of a link to another server; undefined for an address that cannot be opened. */
export const hostOf = (href: string): string | undefined =>
  /^https?:\/\//.test(href) && URL.canParse(href) ? new URL(href).host : undefined;

const maxLength = 65_536;
/** Quotes and lists in each other: the parser calls itself for each. */
const deep = /(?:>[ \t]*|(?:[-+*]|\d{1,9}[.)])[ \t]+){32}/;
/** Marks of one paragraph that may belong together: each is compared with those before. */
const [marks, maxMarks] = [/[*_~[\]]/g, 500];

/** Whether a text is shown as Markdown: one that would hold up the page is shown as it is. */
export const isMarkdown = (text: string): boolean =>
  text.length <= maxLength &&
  !deep.test(text) &&
  text.split(/\n\s*\n/).every((block) => (block.match(marks)?.length ?? 0) <= maxMarks);
