import { Link } from '@tanstack/react-router';
import { createContext, memo, type ReactNode, useContext } from 'react';
import Markdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { withoutConsole } from '../../lib/server-url.js';
import css from './assistant.module.css';
import { hostOf, isCheapMarkdown } from './untrusted-markdown.js';

/** Addresses of the ids that tools answered with. */
export const KnownIds = createContext<ReadonlyMap<string, string>>(new Map());

/** An id that a tool answered with leads there; every other code is code. */
function Code({ children }: { readonly children?: ReactNode }): ReactNode {
  const text = typeof children === 'string' ? children : '';
  const to = useContext(KnownIds).get(text);
  if (to === undefined) return <code>{children}</code>;
  return (
    <Link to={to as '/'} className={css.chip}>
      {text}
    </Link>
  );
}

/** The path below the console in a path, with or without the console's own. */
const ownPath = (path: string): string | undefined =>
  /^\/(?!\/)/.test(path) ? withoutConsole(path) : undefined;

/** A path of the console is a link of the router; another server is shown with its address and opens apart. */
function Anchor({
  href = '',
  children,
}: {
  readonly href?: string;
  readonly children?: ReactNode;
}): ReactNode {
  const own = ownPath(href.replace(window.location.origin, ''));
  if (own !== undefined && !own.startsWith('/api/')) return <Link to={own as '/'}>{children}</Link>;
  const host = hostOf(href);
  if (host === undefined) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {children} <span className={css.host}>({host})</span>
    </a>
  );
}

const components: Components = {
  a: ({ href, children }) => <Anchor {...(href !== undefined && { href })}>{children}</Anchor>,
  code: ({ children }) => <Code>{children}</Code>,
  // No picture is loaded: its address could carry away what the model read.
  img: ({ alt }) => <span className={css.host}>[picture: {alt}]</span>,
  table: ({ children }) => (
    <div className={css.scroll} tabIndex={0} role="region" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  pre: ({ children }) => (
    <pre tabIndex={0} aria-label="Code">
      {children}
    </pre>
  ),
  ...{ h1: 'h3', h2: 'h4', h3: 'h5' },
};

/** The model's text. Raw HTML stays text. */
export const ModelText = memo(({ text }: { readonly text: string }) => (
  <div className={css.text}>
    {isCheapMarkdown(text) ? (
      <Markdown remarkPlugins={[remarkGfm]} components={components}>
        {text}
      </Markdown>
    ) : (
      <pre tabIndex={0} aria-label="Text">
        {text}
      </pre>
    )}
  </div>
));
ModelText.displayName = 'ModelText';
