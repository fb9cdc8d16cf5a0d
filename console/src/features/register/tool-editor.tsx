import { type DragEvent, type ReactNode, useState } from 'react';
import type { Act } from '../../lib/act.js';
import type { CustomToolCreate, CustomToolView } from '../../lib/api.js';
import { sendExactly } from '../../lib/calls.js';
import { useDraft } from '../../lib/drafts.js';
import { jsonObjectOf } from '../../lib/exact-json.js';
import { CodeEditor } from '../../ui/code-editor.js';
import { buttonLook } from '../../ui/controls.js';
import { CopyAs, formsOf } from '../../ui/copy-as.js';
import { Muted, Row, Stack } from '../../ui/layout.js';
import { useFailed } from '../../ui/toasts.js';
import { withCall } from './dry-run.js';
import css from './register.module.css';
import { ToolForm } from './tool-form.js';
import { Workbench } from './workbench.js';

type Mode = 'path' | 'json' | 'mcp';

interface ToolEditorProps {
  readonly initial: Partial<CustomToolCreate>;
  readonly mode: Mode;
  /** Its name is given and cannot change. */
  readonly isKnown: boolean;
  /** The address to which the settings are sent; below it they are tried. */
  readonly save: Omit<Act, 'body'>;
  readonly onSaved: (tool: CustomToolView) => void;
}

/** The settings of a tool, by fields or as JSON: both are the same text. */
export function ToolEditor(props: ToolEditorProps): ReactNode {
  const { initial, mode, isKnown, save, onSaved } = props;
  const dryRunPath = `${save.path}/try`;
  const { text, setText, ...draft } = useDraft(
    `${save.method} ${save.path} ${mode === 'mcp'}`,
    JSON.stringify(initial, null, 2),
  );
  const tool: Partial<CustomToolCreate> | undefined = jsonObjectOf(text);
  return (
    <Workbench
      onTake={(said) => setText(JSON.stringify({ ...tool, ...said }, null, 2))}
      isReady={tool !== undefined}
      attempt={(call) => ({ path: dryRunPath, body: withCall(text, tool?.name ?? '', call) })}
      save={(reason) => {
        const query = isKnown ? `?reason=${encodeURIComponent(reason)}` : '';
        return sendExactly<CustomToolView>({ ...save, path: save.path + query, body: text });
      }}
      {...{ isKnown, draft, onSaved }}
      options={
        <CopyAs
          forms={{
            ...formsOf(() => ({ ...save, body: text })),
            'curl, dry run': () => formsOf(() => ({ method: 'POST', path: dryRunPath, body: text })).curl(),
          }}
        />
      }
    >
      {(problem) =>
        mode === 'json' || !tool ? (
          <FileDrop label="Open a tool.json" onText={setText}>
            <CodeEditor label="Settings as JSON" value={text} onChange={setText} />
          </FileDrop>
        ) : (
          <ToolForm
            tool={tool}
            isServer={mode === 'mcp'}
            isKnown={isKnown}
            problems={problem?.fields ?? []}
            onChange={(changes) => setText(JSON.stringify({ ...tool, ...changes }, null, 2))}
          />
        )
      }
    </Workbench>
  );
}

interface FileDropProps {
  readonly label: string;
  readonly onText: (text: string) => void;
  readonly children: ReactNode;
}

/** Takes the text of a file that is dropped on it, or chosen. */
function FileDrop({ label, onText, children }: FileDropProps): ReactNode {
  const [isOver, setOver] = useState(false);
  const failed = useFailed();
  const take = (files: FileList | null): void => {
    files?.[0]?.text().then(onText, failed);
  };
  const drop = (event: DragEvent): void => {
    setOver(false);
    if (event.dataTransfer.files.length === 0) return;
    // The editor would put it where it was dropped.
    event.preventDefault();
    event.stopPropagation();
    take(event.dataTransfer.files);
  };
  const over = (event: DragEvent): void => {
    event.preventDefault();
    setOver(true);
  };
  return (
    <Stack tight>
      <Row>
        <label className={`${buttonLook(undefined, true)} ${css.choose}`}>
          {label}
          <input
            type="file"
            accept="application/json,.json"
            onChange={({ target }) => {
              take(target.files);
              target.value = '';
            }}
          />
        </label>
        <Muted>or drop it, or paste its text</Muted>
      </Row>
      <div
        className={css.drop}
        data-over={isOver ? '' : undefined}
        onDropCapture={drop}
        onDragOver={over}
        onDragLeave={() => setOver(false)}
      >
        {children}
      </div>
    </Stack>
  );
}
