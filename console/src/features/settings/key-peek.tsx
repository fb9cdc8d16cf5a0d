import { type ReactNode, useState } from 'react';
import { ActButton } from '../../app/act-button.js';
import { type KeyView, revokeKey, updateKey } from '../../lib/api.js';
import { exactTime, number } from '../../lib/format.js';
import { useSession } from '../../lib/session.js';
import { asCommand } from '../../lib/snippets.js';
import { Acts } from '../../ui/acts.js';
import { Badge } from '../../ui/controls.js';
import { FormDialog, inAudit } from '../../ui/form-dialog.js';
import { Facts, Note, type Pairs, Row, Stack } from '../../ui/layout.js';
import { Peek } from '../../ui/peek.js';
import { useDone } from '../../ui/toasts.js';
import { changesOf, fieldsOf, type KeyFields } from './key-fields.js';
import { LimitFields, NameField } from './limit-fields.js';
import { ScopeList } from './scope-list.js';

interface KeyProps {
  readonly apiKey: KeyView;
  readonly onClose: () => void;
}

/** One key beside the list: what it opens, what became of it, and hands on it. */
export function KeyPeek({ apiKey, onClose }: KeyProps): ReactNode {
  const isRevoked = apiKey.status === 'revoked';
  return (
    <Peek
      label="Key"
      open={
        isRevoked ? (
          <Badge state="revoked" />
        ) : (
          <Row>
            <ActButton small scope="admin" name="Change limits">
              {(close) => <ChangeDialog apiKey={apiKey} onClose={close} />}
            </ActButton>
            <ActButton small look="danger" scope="admin" name="Revoke">
              {(close) => <RevokeDialog apiKey={apiKey} onClose={close} />}
            </ActButton>
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
    </Peek>
  );
}

const factsOf = (key: KeyView): Pairs => [
  ['Status', <Badge key="status" state={key.status} />],
  ['Scopes', <ScopeList key="scopes" scopes={key.scopes} />],
  ['Tools', key.tools?.join(', ') ?? 'all'],
  ['Projects', key.projects?.join(', ') ?? 'all'],
  ['Virtual MCP servers', key.mcpServers?.join(', ')],
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
  return (
    <FormDialog
      title={`Change ${apiKey.name}`}
      about="All replicas apply it within a second. Scopes cannot be changed: make another key instead."
      name="Save"
      isReady={fields.name.trim() !== '' && Object.keys(body).length > 0}
      send={(options) => updateKey({ path: { id: apiKey.id }, body, ...options })}
      onDone={({ name }) => done('Limits changed', name)}
      onClose={onClose}
    >
      {(error) => (
        <>
          <NameField fields={fields} onChange={set} />
          <LimitFields fields={fields} scopes={apiKey.scopes} error={error} onChange={set} />
        </>
      )}
    </FormDialog>
  );
}

function RevokeDialog({ apiKey: { id, name }, onClose }: KeyProps): ReactNode {
  const done = useDone('keys', 'audit');
  const { environment, keyId } = useSession();
  return (
    <FormDialog
      title={`Revoke ${name}?`}
      about="Permanent: the key is refused at once, on other replicas within a second, and its streams and sessions end."
      name="Revoke key"
      look="danger"
      reason={inAudit}
      send={(options, reason) => revokeKey({ path: { id }, query: { reason }, ...options })}
      onDone={() => done('Key revoked', name)}
      command={asCommand(environment, 'key revoke', id)}
      onClose={onClose}
    >
      {keyId === id && <Note tone="warn">You are signed in with this key: your session ends with it.</Note>}
    </FormDialog>
  );
}
