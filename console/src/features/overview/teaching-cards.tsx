import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { ToolView } from '../../lib/api.js';
import { asCommand, connections, firstCall } from '../../lib/snippets.js';
import { Button, buttonLook } from '../../ui/controls.js';
import { Columns } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { useCopy } from '../../ui/use-copy.js';
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
        {first && <Snippet name="First call" text={firstCall(origin, first.name, first.inputSchema)} />}
        {first && (
          <Link to="/tools/$name/try" params={{ name: first.name }} className={buttonLook('primary')}>
            Try {first.name}
          </Link>
        )}
      </section>
      <section className={css.teach}>
        <h2>Register your own</h2>
        <p>Any program that reads a line of JSON and writes one becomes a tool, without a restart.</p>
        <Snippet
          name="Registration"
          text={`${asCommand('tool create my_tool --template python')}\n${asCommand('tool register my_tool')}`}
        />
        <Link to="/tools/new" className={buttonLook()}>
          Register a tool
        </Link>
      </section>
      <Connections origin={origin} />
    </Columns>
  );
}

function Connections({ origin }: { readonly origin: string }): ReactNode {
  const clients = connections(origin);
  const names = Object.fromEntries(Object.keys(clients).map((name) => [name, name]));
  const [client, setClient] = useState('Claude Desktop');
  const [file, text] = clients[client] ?? ['', ''];
  return (
    <section className={css.teach}>
      <h2>Point an agent here</h2>
      <p>Over MCP, or by the tool calls of your platform. Send the key with each request over HTTP.</p>
      <Modes label="Client" names={names} value={client} onChange={setClient} />
      <p>{file}</p>
      <Snippet name={client} text={text} />
    </section>
  );
}

interface SnippetProps {
  readonly name: string;
  readonly text: string;
}

function Snippet({ name, text }: SnippetProps): ReactNode {
  const copy = useCopy();
  return (
    <div className={css.snippet}>
      <pre tabIndex={0} aria-label={name}>
        {text}
      </pre>
      <Button small look="quiet" aria-label={`Copy ${name}`} onClick={() => void copy(text, name)}>
        Copy
      </Button>
    </div>
  );
}
