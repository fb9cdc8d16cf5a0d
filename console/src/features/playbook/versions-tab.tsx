import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ask, diffPlaybookVersions, type PlaybookVersionSummaryView } from '../../lib/api.js';
import { number, percent } from '../../lib/format.js';
import { playbookVersionsQuery } from '../../lib/playbook-queries.js';
import type { playbookVersionsSearch } from '../../lib/searches.js';
import { useChange } from '../../lib/use-change.js';
import { ChangesTable } from '../../ui/changes-table.js';
import { Badge, Tag } from '../../ui/controls.js';
import { Card, Row, Stack } from '../../ui/layout.js';
import { Select } from '../../ui/select.js';
import { Empty, Loaded } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';

const route = getRouteApi('/shell/playbooks/$id/versions');

/** Every version that was ever stored, and what differs between two of them. */
export function VersionsTab(): ReactNode {
  const { id } = route.useParams();
  const versions = useQuery(playbookVersionsQuery(id));
  return (
    <Loaded query={versions}>
      {(data) => (
        <Stack>
          <VersionTable id={id} versions={data} />
          <Difference id={id} versions={data.map(({ version }) => version)} />
        </Stack>
      )}
    </Loaded>
  );
}

interface VersionTableProps {
  readonly id: string;
  /** Newest first. */
  readonly versions: readonly PlaybookVersionSummaryView[];
}

function VersionTable({ id, versions }: VersionTableProps): ReactNode {
  const { to = versions[0]?.version } = route.useSearch();
  const choose = useChange<Choice>();
  const before = (version: string): string | undefined =>
    versions[versions.findIndex((each) => each.version === version) + 1]?.version;
  return (
    <Card title="Versions" flush>
      <Table
        label="Versions"
        rows={versions}
        keyOf={({ version }) => version}
        isSelected={({ version }) => version === to}
        onOpen={({ version }) => choose({ to: version, from: before(version) })}
        columns={[
          {
            name: 'Version',
            cell: ({ version, is_latest_version: isLatest }) => (
              <Row>
                <Link to="/playbooks/$id" params={{ id }} search={{ v: version }}>
                  {version}
                </Link>
                {isLatest && <Tag>latest</Tag>}
              </Row>
            ),
          },
          { name: 'Status', cell: ({ status }) => <Badge state={status} /> },
          { name: 'Outcomes', isNumber: true, cell: (each) => number(each.total_executions) },
          {
            name: 'Success',
            isNumber: true,
            cell: ({ actual_success_rate: rate }) => (rate === null ? '–' : percent(rate)),
          },
          { name: 'Stored', cell: ({ created_at }) => <Time at={created_at} /> },
          { name: 'Notice', cut: true, cell: ({ deprecation_notice }) => deprecation_notice },
        ]}
      />
    </Card>
  );
}

/** The versions to compare; absent: the latest and the one before it. */
type Choice = ReturnType<typeof playbookVersionsSearch>;

interface DifferenceProps {
  readonly id: string;
  /** Newest first. */
  readonly versions: readonly string[];
}

function Difference({ id, versions }: DifferenceProps): ReactNode {
  const [latest = '', previous = latest] = versions;
  const { from = previous, to = latest } = route.useSearch();
  const choose = useChange<Choice>();
  const diff = useQuery({
    queryKey: ['playbooks', 'diff', id, from, to],
    queryFn: ({ signal }) => ask(diffPlaybookVersions({ path: { id, from, to }, signal })),
    enabled: from !== to,
  });
  if (versions.length < 2) return <Empty title="It is the first version: there is nothing to compare" />;
  return (
    <Card
      title={`What changed from ${from} to ${to}`}
      flush
      actions={
        <Row>
          <Select
            label="Before"
            options={versions}
            value={from}
            onChange={(version) => choose({ from: version })}
          />
          <Select
            label="After"
            options={versions}
            value={to}
            onChange={(version) => choose({ to: version })}
          />
        </Row>
      }
    >
      {from === to ? (
        <Empty title="It is the same version" />
      ) : (
        <Loaded query={diff} lines={3}>
          {({ changes }) =>
            changes.length === 0 ? (
              <Empty title="Only the version has changed" />
            ) : (
              <ChangesTable
                label="What changed"
                changes={changes.map(({ pointer: path, from: before, to: after }) => ({
                  path,
                  before,
                  after,
                }))}
              />
            )
          }
        </Loaded>
      )}
    </Card>
  );
}
