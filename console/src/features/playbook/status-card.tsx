import { type ReactNode, useState } from 'react';
import { useAct } from '../../app/sign-in-gate.js';
import type { Sending } from '../../lib/act.js';
import {
  archivePlaybook,
  type ask,
  deprecatePlaybook,
  disablePlaybook,
  enablePlaybook,
  type PlaybookView,
} from '../../lib/api.js';
import { useSession } from '../../lib/session.js';
import { Badge } from '../../ui/controls.js';
import { FormDialog, inHistory } from '../../ui/form-dialog.js';
import { Card, Row, Stack } from '../../ui/layout.js';
import { Menu } from '../../ui/menu.js';
import { Table } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { useDone } from '../../ui/toasts.js';

/** The meaning of each status for agents. */
const meanings: Readonly<Record<PlaybookView['status'], string>> = {
  active: 'Agents find it.',
  disabled: 'Agents do not find it, until it is enabled or a newer version is saved.',
  deprecated: 'Agents do not find it any more.',
  archived: 'It is stored only for the record.',
};

/** The status that lets agents find this version or not, who changed it and why, and the acts that change it. */
export function StatusCard({ playbook }: { readonly playbook: PlaybookView }): ReactNode {
  const { status, status_history: history } = playbook;
  const [act, setAct] = useState<StatusAct>();
  const permitted = useAct('playbooks:write');
  const offered = permitted ? statusActs.filter(({ from }) => from.includes(status)) : [];
  return (
    <Card
      title="Status"
      actions={
        offered.length > 0 && (
          <Menu
            items={offered.map((each) => ({
              name: each.name,
              isDanger: each.isDanger,
              onClick: () => permitted?.(() => setAct(each)),
            }))}
          />
        )
      }
    >
      <Stack>
        <Row>
          <Badge state={status} />
          {playbook.is_latest_version && meanings[status]}
        </Row>
        {history.length > 0 && (
          <Table
            label="Status history"
            rows={history.toReversed()}
            keyOf={({ changed_at, to_status }) => changed_at + to_status}
            columns={[
              { name: 'When', cell: ({ changed_at }) => <Time at={changed_at} /> },
              { name: 'To', cell: ({ to_status }) => <Badge state={to_status} /> },
              { name: 'By', cell: ({ changed_by }) => changed_by },
              { name: 'Why', cell: ({ reason }) => reason },
            ]}
          />
        )}
      </Stack>
      {act && <StatusDialog playbook={playbook} act={act} onClose={() => setAct(undefined)} />}
    </Card>
  );
}

interface StatusDialogProps {
  readonly playbook: PlaybookView;
  readonly act: StatusAct;
  readonly onClose: () => void;
}

/** Asks for the reason, which stands in the version's history with the caller's name. */
function StatusDialog({ playbook, act, onClose }: StatusDialogProps): ReactNode {
  const { playbook_id: id, version } = playbook;
  const { userId } = useSession();
  const done = useDone('playbooks');
  return (
    <FormDialog
      title={`${act.name} ${id} ${version}?`}
      about={act.about}
      name={act.name}
      look={act.isDanger ? 'danger' : 'primary'}
      reason={inHistory}
      send={(options, reason) => act.send({ id, version }, userId, reason, options)}
      onDone={() => done(act.done, `${id} ${version}`)}
      onClose={onClose}
    />
  );
}

interface Version {
  readonly id: string;
  readonly version: string;
}

/** A change of a version's status, by somebody and with a reason. */
interface StatusAct {
  readonly name: string;
  readonly done: string;
  readonly from: readonly PlaybookView['status'][];
  /** Agents lose it. */
  readonly isDanger: boolean;
  readonly about: string;
  readonly send: (
    path: Version,
    by: string,
    reason: string,
    options: Sending,
  ) => Parameters<typeof ask<unknown>>[0];
}

const statusActs: readonly StatusAct[] = [
  {
    ...{ name: 'Enable', done: 'Enabled', from: ['disabled'], isDanger: false },
    about: 'Agents find it again.',
    send: (path, by, reason, options) =>
      enablePlaybook({ path, body: { enabled_by: by, enabled_reason: reason }, ...options }),
  },
  {
    ...{ name: 'Disable', done: 'Disabled', from: ['active'], isDanger: true },
    about:
      'Agents no longer find it, and no older version takes its place, until it is enabled or a newer version is saved.',
    send: (path, by, reason, options) =>
      disablePlaybook({ path, body: { disabled_by: by, disabled_reason: reason }, ...options }),
  },
  {
    ...{ name: 'Deprecate', done: 'Deprecated', from: ['active'], isDanger: true },
    about:
      'Agents no longer find it, and this version can only be archived afterwards. The reason is a notice for those who still use it.',
    send: (path, by, reason, options) =>
      deprecatePlaybook({ path, body: { deprecated_by: by, deprecation_notice: reason }, ...options }),
  },
  {
    ...{ name: 'Archive', done: 'Archived', from: ['active', 'deprecated'], isDanger: true },
    about: 'Permanent: this version stays readable, but it cannot be enabled again.',
    send: (path, by, reason, options) =>
      archivePlaybook({ path, body: { archived_by: by, archived_reason: reason }, ...options }),
  },
];
