/** The host of a link to another server; undefined for an address that cannot be opened. */
export const hostOf = (href: string): string | undefined =>
  /^https?:\/\//.test(href) && URL.canParse(href) ? new URL(href).host : undefined;

const maxLength = 65_536;
/** 32 nested quotes and lists in one line: the parser recurses into each. */
const deepNesting = /(?:>[ \t]*|(?:[-+*]|\d{1,9}[.)])[ \t]+){32}/;
/** Emphasis and link marks: the parser compares each one of a paragraph with all before it, so time is quadratic. */
const marks = /[*_~[\]]/g;
const maxMarks = 500;

/** Whether a text is cheap enough to parse as Markdown. Others are shown as plain text. */
export const isCheapMarkdown = (text: string): boolean =>
  text.length <= maxLength &&
  !deepNesting.test(text) &&
  text.split(/\n\s*\n/).every((block) => (block.match(marks)?.length ?? 0) <= maxMarks);
