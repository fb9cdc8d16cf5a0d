import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { NeedsScope } from '../../app/needs-scope.js';
import type { LogEntryView } from '../../lib/api.js';
import { counted } from '../../lib/format.js';
import { useConnection } from '../../lib/live.js';
import type { logsSearch } from '../../lib/searches.js';
import { useChange } from '../../lib/use-change.js';
import { useLogStream } from '../../lib/use-log-stream.js';
import { Button } from '../../ui/controls.js';
import { FilterBar, FilterText } from '../../ui/filters.js';
import { Card, Muted, Row, Stack } from '../../ui/layout.js';
import { LogLines, textOf } from '../../ui/log-lines.js';
import { Select } from '../../ui/select.js';
import { Empty } from '../../ui/states.js';

const route = getRouteApi('/shell/tools/$name/logs');

/** The stderr of the tool's processes and the events of their lives, as they happen. */
export const LogsTab = (): ReactNode => (
  <NeedsScope
    scope="tools:admin"
    title="Logs of tools may contain secrets"
    why="The log requires the scope tools:admin."
  >
    <Logs />
  </NeedsScope>
);

const levels = ['debug', 'info', 'warn', 'error'];

function Logs(): ReactNode {
  const { name } = route.useParams();
  const { q, level, paused } = route.useSearch();
  const ring = useLogStream(name);
  const connection = useConnection();
  const wanted = ring.lines.filter(isWanted(q, level));
  // A stream has the lines of the replica that answers.
  const host = ring.lines.findLast(({ replica }) => replica !== '')?.replica.split(':')[0] ?? '';
  const change = useChange<ReturnType<typeof logsSearch>>();
  return (
    <Stack>
      <FilterBar label="Log">
        <FilterText label="Search" value={q} onChange={(value) => change({ q: value })} />
        <Select
          label="Min level"
          none="any"
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
            <Muted>{connection === 'live' ? `following ${host}` : 'not connected'}</Muted>
          </Row>
        }
      >
        {wanted.length === 0 ? (
          <Empty
            title={ring.lines.length === 0 ? 'Nothing was written yet' : 'No lines match these filters'}
          />
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
