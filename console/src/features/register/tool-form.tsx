import type { ReactNode } from 'react';
import { type CustomToolCreate, type FieldProblemView, wrongOf } from '../../lib/api.js';
import { commandOf, wordsOf } from '../../lib/command-words.js';
import { Checkbox, TextField } from '../../ui/controls.js';
import { Stack } from '../../ui/layout.js';
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
    help: 'Where it runs. It may read what is in it.',
  },
  {
    name: 'description',
    label: 'Description',
    placeholder: '',
    help: 'What agents read to choose it. Absent: what the tool says of itself.',
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
            isServer ? 'Its tools are called <name>__<tool>.' : 'What agents call it by, such as word_count.'
          }
        />
      )}
      {isServer && (
        <TextField
          label="URL"
          value={tool.url ?? ''}
          wrong={wrong('url')}
          onText={(url) => onChange({ url: url || undefined })}
          help="Of a server that runs elsewhere; or give the command that starts one here."
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
    </Stack>
  );
}

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
      help="The program and its arguments. No shell reads them."
    />
  );
}
