import { lazy, type ReactNode, Suspense } from 'react';
import { ask, type CustomToolView, registerToolBundle, type TemplateView } from '../../lib/api.js';
import { useDraft } from '../../lib/drafts.js';
import { archiveOf } from '../../lib/tar.js';
import { Button, TextField } from '../../ui/controls.js';
import { Muted, Stack } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { Loading } from '../../ui/states.js';
import { Workbench } from './workbench.js';

const CodeEditor = lazy(() =>
  import('../../ui/code-editor.js').then(({ CodeEditor: it }) => ({ default: it })),
);

interface TemplateEditorProps {
  readonly template: TemplateView;
  /** The path of the file that is looked at; absent: the program. */
  readonly file: string | undefined;
  readonly onFile: (path: string) => void;
  readonly onSaved: (tool: CustomToolView) => void;
}

/** A template's files, to be changed and registered together: the server keeps them. */
export function TemplateEditor({ template, file, onFile, onSaved }: TemplateEditorProps): ReactNode {
  const { name, texts, change, isChanged, forget } = useFiles(template);
  const paths = pathsOf(template);
  const path = file !== undefined && file in texts ? file : (paths[0] ?? '');
  const archive = (): Promise<Blob> =>
    archiveOf(
      Object.entries(texts).map(([each, text]) => ({
        path: each,
        content: text.replaceAll(template.toolName, name),
      })),
    );
  const address = `/api/v1/custom-tools/${encodeURIComponent(name)}/bundle/try`;
  return (
    <Workbench
      title="Files"
      isReady={name !== ''}
      attempt={async (call) => ({
        path: call ? `${address}?input=${encodeURIComponent(call.input)}` : address,
        body: await archive(),
      })}
      save={async () => ask(registerToolBundle({ path: { name }, body: await archive() }))}
      saveName="Save"
      onSaved={(saved) => {
        forget();
        onSaved(saved);
      }}
      options={isChanged && <Button onClick={forget}>Start over</Button>}
    >
      {(problems) => (
        <Stack>
          <Muted>{template.description}</Muted>
          <TextField
            label="Name"
            value={name}
            wrong={problems.find(({ pointer }) => pointer === '/name')?.detail}
            onText={(changed) => change({ name: changed, texts })}
            help={`What agents call it by. It takes the place of ${template.toolName} in all files.`}
          />
          <Modes
            label="File"
            names={Object.fromEntries(paths.map((each) => [each, each]))}
            value={path}
            onChange={onFile}
          />
          <Suspense fallback={<Loading />}>
            <CodeEditor
              key={path}
              label={path}
              language={path.endsWith('.json') ? 'json' : 'text'}
              value={texts[path] ?? ''}
              onChange={(text) => change({ name, texts: { ...texts, [path]: text } })}
            />
          </Suspense>
        </Stack>
      )}
    </Workbench>
  );
}

interface Files {
  /** The tool's, in place of the template's. */
  readonly name: string;
  /** Contents by path. */
  readonly texts: Readonly<Record<string, string>>;
}

/** A template's files as they are being written; they survive a reload. */
function useFiles({ name: template, toolName, files }: TemplateView) {
  const texts = Object.fromEntries(files.map(({ path, content }) => [path, content]));
  const initial: Files = { name: toolName, texts };
  const { text, setText, isChanged, forget } = useDraft(`template ${template}`, JSON.stringify(initial));
  const change = (changed: Files): void => setText(JSON.stringify(changed));
  return { ...(JSON.parse(text) as Files), change, isChanged, forget };
}

/** The program first, then its registration, then what belongs to them. */
function pathsOf({ files }: TemplateView): string[] {
  const order = (path: string): number => {
    if (path === 'tool.json') return 1;
    return path.startsWith('tool.') ? 0 : 2;
  };
  return files.map(({ path }) => path).sort((a, b) => order(a) - order(b));
}
