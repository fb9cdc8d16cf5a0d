import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { usePageLink } from '../../bridge/use-page.js';
import { toolsQuery } from '../../lib/queries.js';
import { serverUrl } from '../../lib/server-url.js';
import { useSession } from '../../lib/session.js';
import { asCommand, connections, easiest, firstCall, keyCommand } from '../../lib/snippets.js';
import { buttonLook } from '../../ui/controls.js';
import { Row } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { Snippet } from '../../ui/snippet.js';
import css from './connect.module.css';

interface TeachingCardsProps {
  /** Name of the tool that the first call is of. */
  readonly tool?: string | undefined;
  /** The control that chooses it. */
  readonly choice?: ReactNode;
  /** Name of the virtual MCP server at which clients are pointed; absent: all tools. */
  readonly server?: string | undefined;
  /** The control that chooses it. */
  readonly serverChoice?: ReactNode;
}

/** How agents and shells reach this server, with its own addresses, paths and tools. */
export function TeachingCards({ tool, choice, server, serverChoice }: TeachingCardsProps): ReactNode {
  const { data: tools = [] } = useQuery(toolsQuery);
  const { environment } = useSession();
  const first = tools.find(({ name }) => name === tool) ?? easiest(tools);
  return (
    <div className={css.cards}>
      <section className={css.teach}>
        <h2>Call a tool</h2>
        <p>
          Toolkeeper validates, limits and records every call. On this machine, tools that only read and tools
          of your own need no key.
        </p>
        {first && (
          <>
            <Snippet name="First call" text={firstCall(serverUrl, first, keyCommand(environment))} />
            <Row>
              {choice}
              <Link to="/tools/$name/try" params={{ name: first.name }} className={buttonLook('primary')}>
                Try {first.name}
              </Link>
            </Row>
          </>
        )}
      </section>
      <Connections server={server} choice={serverChoice} />
      <section className={css.teach}>
        <h2>Register your own</h2>
        <p>A tool is any program that answers JSON-RPC requests, one a line. It needs no restart.</p>
        <Snippet
          name="Registration"
          text={`${asCommand(environment, 'tool create my_tool --template python')}\n${asCommand(environment, 'tool register my_tool')}`}
        />
        <Link to="/tools/new" className={buttonLook()}>
          Register a tool
        </Link>
      </section>
      <PageSection />
    </div>
  );
}

function Connections({ server, choice }: Pick<TeachingCardsProps, 'server' | 'choice'>): ReactNode {
  const clients = connections(serverUrl, useSession().environment, server);
  const names = Object.fromEntries(Object.keys(clients).map((name) => [name, name]));
  const [client, setClient] = useState('Claude Desktop');
  const [file, text] = clients[client] ?? ['', ''];
  return (
    <section className={css.teach}>
      <h2>Point an agent here</h2>
      <p>
        Over MCP, or by the tool calls of your platform. A client that starts the command needs no key; over
        HTTP, send one with each request.
      </p>
      {choice}
      <Modes label="Client" names={names} value={client} onChange={setClient} />
      <p>{file}</p>
      <Snippet name={client} text={text} />
      <Link to="/settings/keys" search={{ make: true }} className={buttonLook()}>
        Make a key for an agent
      </Link>
    </section>
  );
}

/** The id by which agents call the tools that this tab answers. */
function PageSection(): ReactNode {
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
