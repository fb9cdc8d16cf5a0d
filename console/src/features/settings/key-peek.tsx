import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Sending } from '../../lib/act.js';
import { ask, type KeyView, revokeKey, updateKey } from '../../lib/api.js';
import { exactTime, number } from '../../lib/format.js';
import { useSession } from '../../lib/session.js';
import { asCommand } from '../../lib/snippets.js';
import { Acts } from '../../ui/acts.js';
import { Badge, Button, TextField } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Facts, Note, type Pairs, Row, Stack } from '../../ui/layout.js';
import { Peek } from '../../ui/peek.js';
import { inAudit, ReasonField } from '../../ui/reason-field.js';
import { useDone } from '../../ui/toasts.js';
import { changesOf, fieldsOf, type KeyFields } from './key-fields.js';
import { LimitFields } from './limit-fields.js';
import { ScopeList } from './scope-list.js';

interface KeyProps {
  readonly apiKey: KeyView;
  readonly onClose: () => void;
}

/** One key beside the list: what it opens, what became of it, and hands on it. */
export function KeyPeek({ apiKey, onClose }: KeyProps): ReactNode {
  const [act, setAct] = useState<'change' | 'revoke'>();
  const close = (): void => setAct(undefined);
  const isRevoked = apiKey.status === 'revoked';
  return (
    <Peek
      label="Key"
      open={
        isRevoked ? (
          <Badge state="revoked" />
        ) : (
          <Row>
            <Button small onClick={() => setAct('change')}>
              Change limits
            </Button>
            <Button small look="danger" onClick={() => setAct('revoke')}>
              Revoke
            </Button>
          </Row>
        )
      }
      onClose={onClose}
    >
      <Stack>
        <h2>{apiKey.name}</h2>
        <Facts facts={factsOf(apiKey)} />
        <Acts target={`keys/${apiKey.id}`} />
      </Stack>
      {act === 'change' && <ChangeDialog apiKey={apiKey} onClose={close} />}
      {act === 'revoke' && <RevokeDialog apiKey={apiKey} onClose={close} />}
    </Peek>
  );
}

const factsOf = (key: KeyView): Pairs => [
  ['Status', <Badge key="status" state={key.status} />],
  ['May', <ScopeList key="scopes" scopes={key.scopes} />],
  ['Tools', key.tools?.join(', ') ?? 'all'],
  ['Projects', key.projects?.join(', ') ?? 'all'],
  ['Calls', key.rate ? `${number(key.rate.calls)} a ${key.rate.per}` : 'any number'],
  ['Expires', key.expiresAt === null ? 'never' : exactTime(key.expiresAt)],
  ['Last used', key.lastUsedAt === null ? 'never' : exactTime(key.lastUsedAt)],
  ['Owner', key.owner],
  ['Made', `${exactTime(key.createdAt)} by ${key.createdBy}`],
  ['Revoked', key.revokedAt && `${exactTime(key.revokedAt)} by ${key.revokedBy ?? 'somebody'}`],
  ['Id', <code key="id">{key.id}</code>],
];

function ChangeDialog({ apiKey, onClose }: KeyProps): ReactNode {
  const [fields, setFields] = useState(() => fieldsOf(apiKey));
  const set = (changes: Partial<KeyFields>): void => setFields((old) => ({ ...old, ...changes }));
  const done = useDone('keys', 'audit');
  const body = changesOf(apiKey, fields);
  const send = (options: Sending = {}) => updateKey({ path: { id: apiKey.id }, body, ...options });
  const change = useMutation({
    mutationFn: () => ask(send()),
    onSuccess: ({ name }) => {
      done('Limits changed', name);
      onClose();
    },
  });
  return (
    <FormDialog
      title={`Change ${apiKey.name}`}
      about="Every replica obeys within a second. Its scopes stay: other scopes are another key."
      name="Save"
      isReady={fields.name.trim() !== '' && Object.keys(body).length > 0}
      {...{ change, send }}
      onClose={onClose}
    >
      <TextField label="Name" required maxLength={128} value={fields.name} onText={(name) => set({ name })} />
      <LimitFields fields={fields} scopes={apiKey.scopes} error={change.error} onChange={set} />
    </FormDialog>
  );
}

function RevokeDialog({ apiKey: { id, name }, onClose }: KeyProps): ReactNode {
  const [reason, setReason] = useState('');
  const done = useDone('keys', 'audit');
  const isOwn = useSession().keyId === id;
  const send = (options: Sending = {}) => revokeKey({ path: { id }, query: { reason }, ...options });
  const revoke = useMutation({
    mutationFn: () => ask(send()),
    onSuccess: () => {
      done('Key revoked', name);
      onClose();
    },
  });
  return (
    <FormDialog
      title={`Revoke ${name}?`}
      about="For good: whoever uses it is refused at once, other replicas follow within a second, and streams and sessions that it opened end."
      name="Revoke key"
      look="danger"
      isReady={reason.trim() !== ''}
      change={revoke}
      send={send}
      command={asCommand('key revoke', id)}
      onClose={onClose}
    >
      {isOwn && <Note tone="warn">You are signed in with this key: your session ends with it.</Note>}
      <ReasonField value={reason} onText={setReason} help={inAudit} />
    </FormDialog>
  );
}
