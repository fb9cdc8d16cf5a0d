import { type ReactNode, Suspense, useMemo, useState } from 'react';
import settings from '../../../../client/tool-settings.json';
import { type CustomToolCreate, type FieldProblemView, wrongOf } from '../../lib/api.js';
import { commandOf, wordsOf } from '../../lib/command-words.js';
import { Checkbox, TextField } from '../../ui/controls.js';
import { words } from '../../lib/format.js';
import { SchemaForm } from '../../ui/input-editor.js';
import { Stack } from '../../ui/layout.js';
import { Loading } from '../../ui/states.js';
import { useTyped } from '../../lib/use-typed.js';

interface ToolFormProps {
  readonly tool: Partial<CustomToolCreate>;
  readonly onChange: (changes: Partial<CustomToolCreate>) => void;
  readonly problems: readonly FieldProblemView[];
  readonly isServer: boolean;
  /** Its name is given and cannot change. */
  readonly isKnown: boolean;
}

const fields = [
  {
    name: 'workingDir',
    label: 'Folder',
    placeholder: '/opt/tools/word_count',
    help: 'Working directory. The tool may read all files in it.',
  },
  {
    name: 'description',
    label: 'Description',
    placeholder: '',
    help: 'Agents read it to choose a tool. Empty: the description that the tool reports.',
  },
] as const;

/** The settings that most tools need; all others are members of the JSON. */
export function ToolForm({ tool, onChange, problems, isServer, isKnown }: ToolFormProps): ReactNode {
  // Beside the form stands all of it, with what the program wrote.
  const wrong = (...names: string[]): string | undefined =>
    wrongOf(problems, ...names)?.split('; its stderr')[0];
  return (
    <Stack>
      {!isKnown && (
        <TextField
          label="Name"
          value={tool.name ?? ''}
          wrong={wrong('name')}
          onText={(name) => onChange({ name })}
          help={
            isServer
              ? 'Its tools are called <name>__<tool>.'
              : 'The name that agents call, such as word_count.'
          }
        />
      )}
      {isServer && (
        <TextField
          label="URL"
          value={tool.url ?? ''}
          wrong={wrong('url')}
          onText={(url) => onChange({ url: url || undefined })}
          help="URL of a remote server. To start a server here, enter a command instead."
        />
      )}
      <CommandField tool={tool} onChange={onChange} wrong={wrong('command', 'args')} isServer={isServer} />
      {fields.map(({ name, ...field }) => (
        <TextField
          key={name}
          {...field}
          value={tool[name] ?? ''}
          wrong={wrong(name)}
          onText={(value) => onChange({ [name]: value || undefined })}
        />
      ))}
      <Checkbox
        label="Keep its process for the next call"
        checked={tool.keepAlive === true}
        onChange={(keepAlive) => onChange({ keepAlive })}
      />
      <Checkbox
        label="It may use the network"
        checked={tool.permissions?.canNetwork === true}
        onChange={(canNetwork) => onChange({ permissions: { ...tool.permissions, canNetwork } })}
      />
      <Advanced tool={tool} onChange={onChange} problems={problems} isServer={isServer} />
    </Stack>
  );
}

/** Settings with fields of their own above, and the input schema, which is code. */
const ownFields = ['name', 'protocol', 'url', 'command', 'args', 'workingDir', 'description', 'keepAlive'];
const notInForm = new Set([...ownFields, 'inputSchema']);

const advancedSchema = (isServer: boolean) => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(settings.properties)
      .filter(([name]) => !notInForm.has(name) && (isServer || name !== 'headers'))
      .map(([name, property]) => [name, { title: words(name), ...property }]),
  ),
});

/** All other settings, by the schema of the API. */
function Advanced({ tool, onChange, problems, isServer }: Omit<ToolFormProps, 'isKnown'>): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const schema = useMemo(() => advancedSchema(isServer), [isServer]);
  const names = Object.keys(schema.properties);
  const values = Object.fromEntries(Object.entries(tool).filter(([name]) => names.includes(name)));
  const take = (changed: unknown): void => {
    const members = names.map(
      (name) => [name, (changed as Readonly<Record<string, unknown>>)[name]] as const,
    );
    onChange(Object.fromEntries(members.filter(([name, value]) => name in tool || !isEmpty(value))));
  };
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Advanced</summary>
      {isOpen && (
        <Suspense fallback={<Loading lines={3} />}>
          <SchemaForm
            schema={schema}
            value={values}
            onChange={take}
            problems={problems.map((each) => ({ ...each, pointer: `/settings${each.pointer}` }))}
          />
        </Suspense>
      )}
    </details>
  );
}

/** A form makes empty objects and lists for what is not filled in. */
const isEmpty = (value: unknown): boolean =>
  value === undefined || (typeof value === 'object' && value !== null && Object.values(value).every(isEmpty));

interface CommandFieldProps extends Pick<ToolFormProps, 'tool' | 'onChange' | 'isServer'> {
  readonly wrong: string | undefined;
}

const commandLine = { read: wordsOf, write: commandOf } as const;

function CommandField({ tool, onChange, isServer, wrong }: CommandFieldProps): ReactNode {
  const words = [tool.command, ...(tool.args ?? [])].filter((word) => word !== undefined);
  const [command, setCommand] = useTyped(words, commandLine, ([first, ...args]) =>
    onChange({ command: first, args }),
  );
  return (
    <TextField
      label="Command"
      value={command}
      wrong={wrong}
      onText={setCommand}
      placeholder={isServer ? 'npx some-mcp-server' : 'python3 tool.py'}
      help="The program and its arguments, without a shell. It must answer JSON-RPC requests; Template has an example."
    />
  );
}
