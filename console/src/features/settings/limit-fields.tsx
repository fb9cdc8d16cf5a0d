import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError, wrongOf } from '../../lib/api.js';
import { mcpServersQuery } from '../../lib/queries.js';
import type { Scope } from '../../lib/scopes.js';
import { useSession } from '../../lib/session.js';
import { Field, TextField } from '../../ui/controls.js';
import { Columns } from '../../ui/layout.js';
import type { KeyFields } from './key-fields.js';

interface LimitFieldsProps {
  readonly fields: KeyFields;
  readonly scopes: readonly Scope[];
  /** The server's errors about the fields. */
  readonly error: Error | null;
  readonly onChange: (changes: Partial<KeyFields>) => void;
}

const wrongIn = (error: Error | null, name: string): string | undefined =>
  error instanceof ApiError ? wrongOf(error.fields, name) : undefined;

/** Scopes that reach beyond projects: a key with one of them cannot be limited to projects. */
const serverWideScopes: readonly Scope[] = ['metrics:read', 'audit:read', 'tools:admin', 'admin'];

/** The name of a key. */
export const NameField = ({ fields, onChange }: Pick<LimitFieldsProps, 'fields' | 'onChange'>): ReactNode => (
  <TextField
    label="Name"
    required
    maxLength={128}
    value={fields.name}
    onText={(name) => onChange({ name })}
  />
);

/** Limits of a key within what its scopes open. */
export function LimitFields({ fields, scopes, error, onChange }: LimitFieldsProps): ReactNode {
  const runsAnything = scopes.includes('tools:admin') || scopes.includes('admin');
  const { data: servers = [] } = useQuery(mcpServersQuery(useSession()));
  const wide = scopes.filter((scope) => serverWideScopes.includes(scope));
  return (
    <>
      <TextField
        label="Tools"
        value={fields.tools}
        placeholder="all"
        disabled={runsAnything && fields.tools === ''}
        wrong={wrongIn(error, 'tools')}
        onText={(tools) => onChange({ tools })}
        help={
          runsAnything
            ? 'A key that may register tools may run anything.'
            : 'Names, or prefixes such as disk_*.'
        }
      />
      <TextField
        label="Projects"
        value={fields.projects}
        placeholder="all"
        disabled={wide.length > 0 && fields.projects === ''}
        wrong={wrongIn(error, 'projects')}
        onText={(projects) => onChange({ projects })}
        help={
          wide.length > 0
            ? `Not with ${wide.join(', ')}, which is not limited to projects.`
            : 'The first is used for calls that name none.'
        }
      />
      {(servers.length > 0 || fields.mcpServers !== '') && !runsAnything && (
        <TextField
          label="Virtual MCP servers"
          value={fields.mcpServers}
          placeholder="none"
          wrong={wrongIn(error, 'mcpServers')}
          onText={(mcpServers) => onChange({ mcpServers })}
          help={`The key can then call only their tools: ${servers.map(({ name }) => name).join(', ')}.`}
        />
      )}
      <RateFields fields={fields} error={error} onChange={onChange} />
      <TextField
        label="Expires"
        type="datetime-local"
        step={1}
        value={fields.expires}
        wrong={wrongIn(error, 'expiresAt')}
        onText={(expires) => onChange({ expires })}
        help="Empty: never."
      />
    </>
  );
}

function RateFields({ fields, error, onChange }: Omit<LimitFieldsProps, 'scopes'>): ReactNode {
  return (
    <Columns>
      <TextField
        label="Calls at most"
        type="number"
        min={1}
        max={1_000_000}
        placeholder="any number"
        value={fields.calls}
        wrong={wrongIn(error, 'rate')}
        onText={(calls) => onChange({ calls })}
      />
      <Field label="Within">
        {(tie) => (
          <select
            {...tie}
            value={fields.per}
            onChange={({ target }) => onChange({ per: target.value === 'second' ? 'second' : 'minute' })}
          >
            <option value="minute">a minute</option>
            <option value="second">a second</option>
          </select>
        )}
      </Field>
    </Columns>
  );
}
