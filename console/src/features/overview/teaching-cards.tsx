import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ToolView } from '../../lib/api.js';
import { asCommand, connections, firstCall } from '../../lib/snippets.js';
import { buttonLook } from '../../ui/controls.js';
import { Columns } from '../../ui/layout.js';
import css from './overview.module.css';

/** The next steps of a fresh install. */
export function TeachingCards({ tools }: { readonly tools: readonly ToolView[] }): ReactNode {
  const first = tools.find(({ name }) => name === 'disk_usage') ?? tools[0];
  const origin = window.location.origin;
  return (
    <Columns>
      <section className={css.teach}>
        <h2>Call a tool</h2>
        <p>
          Every call is checked, bounded, recorded and graded. Without a key this machine may call your own
          tools and those that only read; the rest takes a key.
        </p>
        {first && (
          <pre className={css.snippet} tabIndex={0}>
            {firstCall(origin, first.name)}
          </pre>
        )}
        {first && (
          <Link to="/tools/$name/try" params={{ name: first.name }} className={buttonLook('primary')}>
            Try {first.name}
          </Link>
        )}
      </section>
      <section className={css.teach}>
        <h2>Register your own</h2>
        <p>Any program that reads a line of JSON and writes one becomes a tool, without a restart.</p>
        <pre className={css.snippet} tabIndex={0}>
          {`${asCommand('tool create my_tool --template python')}\n${asCommand('tool register my_tool')}`}
        </pre>
        <Link to="/tools/new" className={buttonLook()}>
          Register a tool
        </Link>
      </section>
      <section className={css.teach}>
        <h2>Point an agent here</h2>
        <p>Over MCP, or by the form of your platform’s own tool calls. Send the key with each request.</p>
        <pre className={css.snippet} tabIndex={0}>
          {connections(origin)}
        </pre>
      </section>
    </Columns>
  );
}
