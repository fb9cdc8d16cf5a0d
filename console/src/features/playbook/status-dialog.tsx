import { type ReactNode, useState } from 'react';
import type { PlaybookView } from '../../lib/api.js';
import { useSession } from '../../lib/session.js';
import { TextField } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { useDone } from '../../ui/toasts.js';
import type { StatusAct } from './status-acts.js';

interface StatusDialogProps {
  readonly playbook: PlaybookView;
  readonly act: StatusAct;
  readonly onClose: () => void;
}

/** Asks for the name and the reason that stand in the version's history afterwards. */
export function StatusDialog({ playbook, act, onClose }: StatusDialogProps): ReactNode {
  const { playbook_id: id, version } = playbook;
  const { userId } = useSession();
  const [by, setBy] = useState(userId);
  const [reason, setReason] = useState('');
  const done = useDone('playbooks');
  return (
    <FormDialog
      title={`${act.name} ${id} ${version}?`}
      about={act.about}
      name={act.name}
      look={act.isDanger ? 'danger' : 'primary'}
      isReady={by.trim() !== '' && (reason.trim() !== '' || !act.isDanger)}
      send={(options) => act.send({ id, version }, by.trim(), reason.trim(), options)}
      onDone={() => done(act.done, `${id} ${version}`)}
      onClose={onClose}
    >
      <TextField
        label={act.reasonLabel}
        value={reason}
        onText={setReason}
        required={act.isDanger}
        maxLength={2_000}
      />
      <TextField
        label="By"
        value={by}
        onText={setBy}
        required
        maxLength={200}
        help="Both stand in its history."
      />
    </FormDialog>
  );
}
