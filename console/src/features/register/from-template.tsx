import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ask, type CustomToolView, registerToolBundle } from '../../lib/api.js';
import { templatesQuery } from '../../lib/queries.js';
import type { registerSearch } from '../../lib/searches.js';
import { useChange } from '../../lib/use-change.js';
import { Muted } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { Empty, Loaded } from '../../ui/states.js';
import { FilesEditor } from './files-editor.js';

const route = getRouteApi('/shell/tools/new');

/** A template picker and an editor for the files of the selected template. */
export function FromTemplate({ onSaved }: { readonly onSaved: (tool: CustomToolView) => void }): ReactNode {
  const { template: wanted } = route.useSearch();
  const change = useChange<ReturnType<typeof registerSearch>>();
  const templates = useQuery(templatesQuery);
  return (
    <Loaded query={templates}>
      {(data) => {
        const template = data.find(({ name }) => name === wanted) ?? data[0];
        if (!template) return <Empty title="This server has no templates" />;
        return (
          <FilesEditor
            key={template.name}
            draft={`template ${template.name}`}
            about={
              <>
                <Modes
                  label="Template"
                  names={Object.fromEntries(data.map(({ name }) => [name, name]))}
                  value={template.name}
                  onChange={(name) => change({ template: name, file: undefined })}
                />
                <Muted>{template.description}</Muted>
              </>
            }
            toolName={template.toolName}
            isKnown={false}
            files={template.files}
            save={(name, body) => ask(registerToolBundle({ path: { name }, body }))}
            onSaved={onSaved}
          />
        );
      }}
    </Loaded>
  );
}
