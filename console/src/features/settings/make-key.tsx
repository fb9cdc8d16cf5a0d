import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { createKey, type NewKeyView } from '../../lib/api.js';
import { allScopes, scopeTexts } from '../../lib/scopes.js';
import type { Scope } from '../../lib/scopes.js';
import { Checkbox, TextField } from '../../ui/controls.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { Stack } from '../../ui/layout.js';
import { type KeyFields, limitsIn, noFields } from './key-fields.js';
import { LimitFields } from './limit-fields.js';
import { NewSecret } from './new-secret.js';
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
      about="For an agent, a pipeline or a dashboard: it opens what its scopes say, and no more."
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
          <TextField
            label="Name"
            required
            maxLength={128}
            value={fields.name}
            onText={(name) => change({ name })}
          />
          <ScopeFields scopes={scopes} onChange={setScopes} />
          <LimitFields fields={fields} scopes={scopes} error={error} onChange={change} />
          <TextField
            label="Owner"
            value={owner}
            maxLength={128}
            placeholder="its name"
            onText={setOwner}
            help="Whom its calls are recorded for where they name no user."
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
    <legend>It may</legend>
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
