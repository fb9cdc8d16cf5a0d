import type { ReactNode } from 'react';
import { jsonObjectOf } from '../../lib/exact-json.js';
import { CodeEditor } from '../../ui/code-editor.js';
import { Button, TextArea, TextField } from '../../ui/controls.js';
import { Card, Muted, Note, Row, Stack } from '../../ui/layout.js';
import { Select } from '../../ui/select.js';
import { headersOf, type MessageDraft, type RequestDraft, variablesIn } from './request-draft.js';

interface RequestEditorProps {
  readonly draft: RequestDraft;
  /** The name of the next run unless another is written. */
  readonly nextName: string;
  readonly onChange: (changes: Partial<RequestDraft>) => void;
}

/** Model, messages, variables, parameters and headers of a request. */
export function RequestEditor({ draft, nextName, onChange }: RequestEditorProps): ReactNode {
  const { name, model, messages, parameters, headers } = draft;
  const set = (index: number, ...message: MessageDraft[]): void =>
    onChange({ messages: messages.toSpliced(index, 1, ...message) });
  const add = (
    <Button small onClick={() => set(messages.length, { role: 'user', text: '' })}>
      Add message
    </Button>
  );
  return (
    <>
      <TextField
        label="Name of the next run"
        value={name}
        placeholder={nextName}
        maxLength={256}
        onText={(text) => onChange({ name: text })}
      />
      <TextField label="Model" value={model} onText={(text) => onChange({ model: text })} />
      <Card title="Messages" actions={add}>
        <Stack>
          {messages.map((message, index) => (
            <Message
              key={index}
              name={`Message ${index + 1}`}
              message={message}
              onChange={(...changed) => set(index, ...changed)}
            />
          ))}
        </Stack>
      </Card>
      <Variables draft={draft} onChange={onChange} />
      <Card title="Parameters">
        <CodeEditor
          label="Parameters"
          value={parameters}
          onChange={(text) => onChange({ parameters: text })}
        />
        {!jsonObjectOf(parameters) && <Note tone="bad">Parameters must be a JSON object.</Note>}
      </Card>
      <TextArea
        label="Headers"
        help="Sent with the request to the model, one on each line: x-team: search"
        value={headers}
        wrong={headersOf(draft) ? undefined : 'Write each header as name: value.'}
        onText={(text) => onChange({ headers: text })}
      />
    </>
  );
}

const roles = ['system', 'developer', 'user', 'assistant'];
const maxRows = 16;

interface MessageProps {
  readonly name: string;
  readonly message: MessageDraft;
  /** Without a message: it is removed. */
  readonly onChange: (...message: MessageDraft[]) => void;
}

function Message({ name, message, onChange }: MessageProps): ReactNode {
  const remove = (
    <Button small look="quiet" onClick={() => onChange()}>
      Remove
    </Button>
  );
  return (
    <div role="group" aria-label={name}>
      {'json' in message ? (
        <Stack tight>
          <Row>
            <Muted>JSON</Muted>
            {remove}
          </Row>
          <CodeEditor label={name} value={message.json} onChange={(json) => onChange({ json })} />
        </Stack>
      ) : (
        <Stack tight>
          <Row>
            <Select
              label="Role"
              value={message.role}
              options={[...new Set([...roles, message.role])]}
              onChange={(role = 'user') => onChange({ ...message, role })}
            />
            {remove}
          </Row>
          <textarea
            aria-label={name}
            rows={Math.min(maxRows, message.text.split('\n').length + 1)}
            value={message.text}
            onChange={({ target }) => onChange({ ...message, text: target.value })}
          />
        </Stack>
      )}
    </div>
  );
}

/** A field for each variable that the request names, and for those that have a value already. */
function Variables({ draft, onChange }: Omit<RequestEditorProps, 'nextName'>): ReactNode {
  const { variables } = draft;
  const names = [...new Set([...variablesIn(draft), ...Object.keys(variables)])];
  return (
    <Card title="Variables">
      <Stack>
        {names.map((name) => (
          <TextArea
            key={name}
            label={name}
            rows={1}
            value={variables[name] ?? ''}
            onText={(text) => onChange({ variables: { ...variables, [name]: text } })}
          />
        ))}
        <Muted>
          Write {'{{name}}'} into a message to add a variable, or {'{{#list}}…{{/list}}'} for a section. A
          value is text, or JSON for lists and conditions.
        </Muted>
      </Stack>
    </Card>
  );
}
