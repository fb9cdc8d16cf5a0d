import { useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type CustomToolView, wrongOf } from '../../lib/api.js';
import { useDraft } from '../../lib/drafts.js';
import { errorLine } from '../../lib/error-line.js';
import { jsonObjectOf } from '../../lib/exact-json.js';
import { archiveOf, type TextFile } from '../../lib/tar.js';
import { useChange } from '../../lib/use-change.js';
import { CodeEditor } from '../../ui/code-editor.js';
import { TextField } from '../../ui/controls.js';
import { Modes } from '../../ui/modes.js';
import { Select } from '../../ui/select.js';
import type { Said } from './dry-run-result.js';
import { Workbench } from './workbench.js';

/** The file that registers the tool. */
const manifestPath = 'tool.json';

interface FilesEditorProps {
  /** Under which the files survive a reload while they are being written. */
  readonly draft: string;
  readonly about: ReactNode;
  readonly toolName: string;
  /** The tool is there under its name; else another name takes its place in all files. */
  readonly isKnown: boolean;
  readonly files: readonly TextFile[];
  readonly save: (name: string, archive: Blob, reason: string) => Promise<CustomToolView>;
  readonly onSaved: (tool: CustomToolView) => void;
}

/** The files of a tool, to be changed, tried and saved together: the server keeps them. */
export function FilesEditor(props: FilesEditorProps): ReactNode {
  const { about, toolName, isKnown, files, save, onSaved } = props;
  const { name, texts, change, ...draft } = useFiles(props.draft, toolName, files);
  // The file that is looked at; absent: the program.
  const { file } = useSearch({ strict: false });
  const paths = pathsOf(files);
  const path = file !== undefined && file in texts ? file : (paths[0] ?? '');
  const archive = (): Promise<Blob> =>
    archiveOf(
      files.map((each) => ({ ...each, content: (texts[each.path] ?? '').replaceAll(toolName, name) })),
    );
  const show = useChange<{ file: string }>();
  const take = (said: Said): void => {
    const manifest = { ...jsonObjectOf(texts[manifestPath] ?? ''), ...said };
    change({ name, texts: { ...texts, [manifestPath]: `${JSON.stringify(manifest, null, 2)}\n` } });
    show({ file: manifestPath });
  };
  const address = `/api/v1/custom-tools/${encodeURIComponent(name)}/bundle/try`;
  return (
    <Workbench
      onTake={manifestPath in texts ? take : undefined}
      isReady={name !== ''}
      attempt={async (call) => ({
        path: call ? `${address}?input=${encodeURIComponent(call.input)}` : address,
        body: await archive(),
      })}
      save={async (reason) => save(name, await archive(), reason)}
      {...{ isKnown, draft, onSaved }}
    >
      {(problem, errorText) => (
        <>
          {about}
          {!isKnown && (
            <TextField
              label="Name"
              value={name}
              wrong={wrongOf(problem?.fields ?? [], 'name')}
              onText={(changed) => change({ name: changed, texts })}
              help={`The name that agents call. Saving and dry runs replace ${toolName} with it in all files.`}
            />
          )}
          <FileChoice paths={paths} path={path} />
          <CodeEditor
            key={path}
            label={path}
            language={path.split('.').at(-1)}
            mark={markOf(errorText, path)}
            value={texts[path] ?? ''}
            onChange={(text) => change({ name, texts: { ...texts, [path]: text } })}
          />
        </>
      )}
    </Workbench>
  );
}

const maxSideBySide = 6;

interface FileChoiceProps {
  readonly paths: readonly string[];
  readonly path: string;
}

function FileChoice({ paths, path: value }: FileChoiceProps): ReactNode {
  const change = useChange<{ file: string | undefined }>();
  const choice = { label: 'File', value, onChange: (file?: string) => change({ file }) };
  return paths.length > maxSideBySide ? (
    <Select {...choice} options={paths} />
  ) : (
    <Modes {...choice} names={Object.fromEntries(paths.map((each) => [each, each]))} />
  );
}

interface Files {
  readonly name: string;
  /** Contents by path. */
  readonly texts: Readonly<Record<string, string>>;
}

/** Files as they are being written; they survive a reload. */
function useFiles(draft: string, name: string, files: readonly TextFile[]) {
  const texts = Object.fromEntries(files.map(({ path, content }) => [path, content]));
  const initial: Files = { name, texts };
  const { text, setText, isChanged, forget } = useDraft(draft, JSON.stringify(initial));
  const change = (changed: Files): void => setText(JSON.stringify(changed));
  return { ...(JSON.parse(text) as Files), change, isChanged, forget };
}

/** The line in which the program failed, if it lies in this file. */
function markOf(errorText: string | undefined, path: string) {
  const line = errorText === undefined ? undefined : errorLine(errorText, path);
  return line === undefined ? undefined : { line, message: errorText?.trimEnd().split('\n').at(-1) ?? '' };
}

/** The program first, then its registration, then what belongs to them. */
function pathsOf(files: readonly TextFile[]): string[] {
  const order = (path: string): number => {
    if (path === manifestPath) return 1;
    return path.startsWith('tool.') ? 0 : 2;
  };
  return files.map(({ path }) => path).sort((a, b) => order(a) - order(b));
}
