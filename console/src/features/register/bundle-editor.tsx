import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ask, type BundleFileView, type CustomToolView, replaceToolBundle } from '../../lib/api.js';
import { bundleFilesQuery } from '../../lib/queries.js';
import { Muted } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';
import { FilesEditor } from './files-editor.js';

interface BundleEditorProps {
  readonly tool: string;
  readonly onSaved: (tool: CustomToolView) => void;
}

/** The files that a registered tool brought. They are replaced together: where one of them cannot be read, none is. */
export function BundleEditor({ tool, onSaved }: BundleEditorProps): ReactNode {
  const files = useQuery({ ...bundleFilesQuery(tool), staleTime: Infinity });
  return (
    <Loaded query={files}>
      {({ data, complete }) =>
        complete ? (
          <FilesEditor
            draft={`files ${tool}`}
            about={<Muted>A dry run takes these files and the settings that the tool has.</Muted>}
            toolName={tool}
            isKnown
            files={data.filter(isText)}
            save={(name, body) => ask(replaceToolBundle({ path: { name }, body }))}
            onSaved={onSaved}
          />
        ) : (
          <Empty title="Its files are not all text, or too much of it to be edited here">
            <p>
              Change them where they come from, and send them again:{' '}
              <code>node bin/toolkeeper.mjs tool register ./folder --update</code>
            </p>
          </Empty>
        )
      }
    </Loaded>
  );
}

const isText = (file: BundleFileView): file is BundleFileView & { readonly content: string } =>
  file.content !== null;
