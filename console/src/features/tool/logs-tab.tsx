import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import type { LogEntryView } from '../../lib/api.js';
import { counted } from '../../lib/format.js';
import { usePermission } from '../../lib/session.js';
import { useConnection } from '../../lib/live.js';
import { useLogStream } from '../../lib/use-log-stream.js';
import { Button } from '../../ui/controls.js';
import { FilterBar, FilterSelect, FilterText } from '../../ui/filters.js';
import { Card, Muted, Row, Stack } from '../../ui/layout.js';
import { LogLines, textOf } from '../../ui/log-lines.js';
import { Empty } from '../../ui/states.js';

const route = getRouteApi('/shell/tools/$name/logs');

/** The stderr of the tool's processes and the events of their lives, as they happen. */
export function LogsTab(): ReactNode {
  const permission = usePermission('tools:admin');
  const act = useAct('tools:admin');
  // Logs are read by the cookie alone; only a caller without any key is asked.
  if (permission === 'yes') return <Logs />;
  return (
    <Empty title="What a tool writes may hold secrets">
      <p>Its log is for whoever may change it: the scope is tools:admin.</p>
      {act && (
        <Button look="primary" onClick={() => act(() => undefined)}>
          Sign in
        </Button>
      )}
    </Empty>
  );
}

const levels = ['debug', 'info', 'warn', 'error'];

function Logs(): ReactNode {
  const { name } = route.useParams();
  const { q, level, paused } = route.useSearch();
  const navigate = route.useNavigate();
  const ring = useLogStream(name);
  const connection = useConnection();
  const wanted = ring.lines.filter(isWanted(q, level));
  const change = (changes: {
    q?: string | undefined;
    level?: typeof level;
    paused?: true | undefined;
  }): void => void navigate({ search: (old) => ({ ...old, ...changes }), replace: true, resetScroll: false });
  return (
    <Stack>
      <FilterBar label="Log">
        <FilterText label="Holds" value={q} onChange={(value) => change({ q: value })} />
        <FilterSelect
          label="At least"
          value={level}
          options={['info', 'warn', 'error']}
          onChange={(value) => change({ level: value })}
        />
        <Button aria-pressed={paused === true} onClick={() => change({ paused: paused ? undefined : true })}>
          {paused ? 'Follow' : 'Pause'}
        </Button>
      </FilterBar>
      <Card
        title="Log"
        flush
        actions={
          <Row>
            <Muted>
              {counted(wanted.length, 'line')}
              {ring.dropped > 0 && `, ${counted(ring.dropped, 'older one')} left out`}
            </Muted>
            <Muted>{connection === 'live' ? 'following' : 'not connected'}</Muted>
          </Row>
        }
      >
        {wanted.length === 0 ? (
          <Empty title={ring.lines.length === 0 ? 'Nothing was written yet' : 'No line fits'} />
        ) : (
          <LogLines
            label={`Log of ${name}`}
            lines={wanted}
            follows={paused !== true}
            onFollow={(follows) => !follows && paused !== true && change({ paused: true })}
          />
        )}
      </Card>
    </Stack>
  );
}

const isWanted =
  (q: string | undefined, level: string | undefined) =>
  (line: LogEntryView): boolean =>
    (level === undefined || levels.indexOf(line.level) >= levels.indexOf(level)) &&
    (q === undefined || textOf(line).toLowerCase().includes(q.toLowerCase()));
