import { useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ask, grantUiPage, revokeUiPage } from '../lib/api.js';
import { clockTime } from '../lib/format.js';
import { Button } from '../ui/controls.js';
import { Muted, Note, Row } from '../ui/layout.js';
import { Time, useNow } from '../ui/time.js';
import { useFailed } from '../ui/toasts.js';
import css from './guests.module.css';
import type { Guest, UiAct } from './page-link.js';
import { usePageLink } from './use-page.js';

/** The caller id that all callers without a key share. */
const anonymousId = 'anonymous';
const allOrNone =
  'The server cannot distinguish callers without a key. If you allow one, you allow all of them, including tools with network access.';

/** Other keys that ask for access to the page or have it, and the actions of agents on it. */
export function Guests(): ReactNode {
  const { session, guests, acts, forgetActs } = usePageLink();
  const now = useNow();
  if (session === undefined) return null;
  const current = guests.filter(({ until }) => Date.parse(until) > now);
  const shown = acts.filter(({ by, tool }) => by !== null || tool in changes);
  return (
    <div className={css.guests}>
      {current.map((guest) => (
        <GuestNote key={guest.id} session={session} guest={guest} />
      ))}
      {shown.length > 0 && <Trail acts={shown} onClear={forgetActs} />}
    </div>
  );
}

function GuestNote({ session, guest }: { readonly session: string; readonly guest: Guest }): ReactNode {
  const failed = useFailed();
  const { id, name, status, until } = guest;
  const path = { id: session, caller: id };
  const decide = (act: typeof grantUiPage) => () => void ask(act({ path })).catch(failed);
  const who =
    id === anonymousId ? (
      'A caller without a key'
    ) : (
      <>
        <bdi>{name}</bdi> (key <code>{id}</code>)
      </>
    );
  if (status === 'refused') return null;
  if (status === 'granted')
    return (
      <Note>
        <Row>
          <span>
            {who} acts on this page with your rights until {clockTime(until)}.
          </span>
          <Button small onClick={decide(revokeUiPage)}>
            End
          </Button>
        </Row>
      </Note>
    );
  return (
    <Note tone="warn" alert>
      <p>
        {who} asks to act on this page for 30 minutes. It may see what the page shows, open other screens, and
        change and run experiments with your rights.
        {id === anonymousId && ` ${allOrNone}`}
      </p>
      <Row>
        <Button small look="primary" onClick={decide(grantUiPage)}>
          Allow
        </Button>
        <Button small onClick={decide(revokeUiPage)}>
          Decline
        </Button>
      </Row>
    </Note>
  );
}

/** Tools that change what the page shows, in words. */
const changes: Readonly<Record<string, (input: UiAct['input']) => string>> = {
  navigate_to: ({ url }) => `opened ${String(url)}`,
  navigate_to_experiment: ({ spanId }) => `opened an experiment from the span ${String(spanId)}`,
  apply_label_filter: ({ labels = [] }) => `filtered by the labels ${[labels].flat().join(', ') || '(none)'}`,
  highlight_spans: () => 'highlighted spans',
  apply_experiment_data: () => 'changed the experiment',
  run_experiment: () => 'ran the experiment',
};

function Trail({ acts, onClear }: { acts: readonly UiAct[]; onClear: () => void }): ReactNode {
  const [last, ...earlier] = acts.toReversed();
  return (
    <Note>
      <div className={css.last}>
        <div role="status">{last && <Act act={last} />}</div>
        <Button small look="quiet" onClick={onClear}>
          Clear
        </Button>
      </div>
      {earlier.length > 0 && (
        <details>
          <summary>{`${earlier.length} earlier`}</summary>
          <ol className={css.acts}>
            {earlier.map((act) => (
              <li key={act.callId}>
                <Act act={act} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </Note>
  );
}

function Act({ act: { tool, input, by, at, from } }: { readonly act: UiAct }): ReactNode {
  const router = useRouter();
  const change = changes[tool];
  return (
    <span className={css.act}>
      <bdi>{by?.name ?? 'An agent'}</bdi> {change?.(input) ?? `called ${tool}`}{' '}
      <Muted>
        <Time at={at} />
      </Muted>
      {change && (
        <Button
          small
          look="quiet"
          aria-label={`Back to ${from}`}
          onClick={() => void router.navigate({ href: from })}
        >
          Back
        </Button>
      )}
    </span>
  );
}
