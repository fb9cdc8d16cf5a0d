import type { ReactNode } from 'react';
import { usePageLink } from '../../bridge/use-page.js';
import { Snippet } from '../../ui/snippet.js';
import css from './connect.module.css';

/** The id by which agents call the tools that this tab answers. */
export function PageSection(): ReactNode {
  const { session } = usePageLink();
  if (session === undefined) return null;
  return (
    <section className={css.teach}>
      <h2>Let an agent use this page</h2>
      <p>
        With this header an agent sees and moves this tab: it opens screens, highlights spans and runs
        experiments. If its key is not yours, the page asks you first.
      </p>
      <Snippet name="Header for this page" text={`x-ui-session: ${session}`} />
    </section>
  );
}
