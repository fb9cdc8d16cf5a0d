import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { createKey, type NewKeyView } from '../../lib/api.js';
import { allScopes, type Scope, scopeTexts } from '../../lib/scopes.js';
import { serverUrl } from '../../lib/server-url.js';
import { Button, Checkbox, TextField } from '../../ui/controls.js';
import { Dialog } from '../../ui/dialog.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { JsonText } from '../../ui/json-text.js';
import { Note, Row, Stack } from '../../ui/layout.js';
import { useCopy } from '../../ui/use-copy.js';
import { type KeyFields, limitsIn, noFields } from './key-fields.js';
import { LimitFields, NameField } from './limit-fields.js';
import css from './settings.module.css';

/** Makes a key, and shows it this once. */
export function MakeKey({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [fields, setFields] = useState(noFields);
  const [owner, setOwner] = useState('');
  const [scopes, setScopes] = useState<readonly Scope[]>(['tools:call']);
  const [made, setMade] = useState<NewKeyView>();
  const client = useQueryClient();
  const change = (changes: Partial<KeyFields>): void => setFields((old) => ({ ...old, ...changes }));
  const body = { ...limitsIn(fields), scopes: [...scopes], ...(owner.trim() && { owner: owner.trim() }) };
  if (made) return <NewSecret made={made} onClose={onClose} />;
  return (
    <FormDialog
      title="Make a key"
      about="For an agent, a pipeline or a dashboard: its scopes decide what it may do."
      name="Make key"
      isReady={fields.name.trim() !== '' && scopes.length > 0}
      send={(options) => createKey({ body, ...options })}
      onDone={(key) => {
        void client.invalidateQueries({ queryKey: ['keys'] });
        setMade(key);
      }}
      stays
      onClose={onClose}
    >
      {(error) => (
        <>
          <NameField fields={fields} onChange={change} />
          <ScopeFields scopes={scopes} onChange={setScopes} />
          <LimitFields fields={fields} scopes={scopes} error={error} onChange={change} />
          <TextField
            label="Owner"
            value={owner}
            maxLength={128}
            placeholder="its name"
            onText={setOwner}
            help="Recorded as the user of calls that name none."
          />
        </>
      )}
    </FormDialog>
  );
}

interface ScopeFieldsProps {
  readonly scopes: readonly Scope[];
  readonly onChange: (scopes: readonly Scope[]) => void;
}

const ScopeFields = ({ scopes, onChange }: ScopeFieldsProps): ReactNode => (
  <fieldset className={css.group}>
    <legend>Scopes</legend>
    <Stack tight>
      {allScopes.map((scope) => (
        <Checkbox
          key={scope}
          label={`${scopeTexts[scope]} (${scope})`}
          checked={scopes.includes(scope)}
          onChange={(checked) =>
            onChange(checked ? [...scopes, scope] : scopes.filter((each) => each !== scope))
          }
        />
      ))}
    </Stack>
  </fieldset>
);

interface NewSecretProps {
  readonly made: NewKeyView;
  readonly onClose: () => void;
}

/** A key that was just made. Only its own button closes it: a slip of the hand would lose the key. */
function NewSecret({ made: { name, key }, onClose }: NewSecretProps): ReactNode {
  const field = useRef<HTMLInputElement>(null);
  const copy = useCopy();
  const copyKey = async (): Promise<void> => {
    if (!(await copy(key, `the key of ${name}`))) field.current?.select();
  };
  return (
    <Dialog open onClose={() => undefined} title={`The key of ${name}`}>
      <Stack>
        <Note tone="warn">
          It is shown only once. The server stores only its hash. If you lose the key, revoke it and make
          another one.
        </Note>
        <TextField ref={field} label="Key" value={key} readOnly spellCheck={false} onText={() => undefined} />
        <JsonText
          label="How it is sent"
          value={`curl -H 'authorization: Bearer ${key.slice(0, 12)}…' ${serverUrl}/api/v1/tools`}
        />
        <Row>
          <Button look="primary" onClick={() => void copyKey()}>
            Copy key
          </Button>
          <Button onClick={onClose}>I have saved it</Button>
        </Row>
      </Stack>
    </Dialog>
  );
}
