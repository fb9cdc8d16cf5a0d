import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ask, type CustomToolView, registerToolBundle } from '../../lib/api.js';
import { templatesQuery } from '../../lib/queries.js';
import type { registerSearch } from '../../lib/searches.js';
import { useChange } from '../../lib/use-change.js';
import { Muted, Workspace } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { Empty, Loaded } from '../../ui/states.js';
import { useDone } from '../../ui/toasts.js';
import { FilesEditor } from './files-editor.js';
import { ToolEditor } from './tool-editor.js';

const route = getRouteApi('/shell/tools/new');

const names = { path: 'Program', template: 'Template', mcp: 'MCP server', json: 'tool.json' } as const;

/** Registers a tool from a template, a program, an MCP server or a tool.json. */
export function RegisterPage(): ReactNode {
  const { from = 'path' } = route.useSearch();
  const navigate = route.useNavigate();
  const done = useDone('tools');
  const onSaved = ({ name, protocol }: CustomToolView): void => {
    done('Registered', name);
    const to = protocol === 'mcp' ? '/tools/$name/tools' : '/tools/$name/try';
    void navigate({ to, params: { name } });
  };
  return (
    <Workspace
      name="Register a tool"
      actions={
        <Modes
          label="From"
          names={names}
          value={from}
          onChange={(chosen) =>
            void navigate({ search: { from: chosen === 'path' ? undefined : chosen }, replace: true })
          }
        />
      }
    >
      {from === 'template' ? (
        <FromTemplate onSaved={onSaved} />
      ) : (
        <ToolEditor
          key={from === 'mcp' ? 'mcp' : 'program'}
          mode={from}
          isKnown={false}
          initial={from === 'mcp' ? { protocol: 'mcp' } : {}}
          save={{ method: 'POST', path: '/api/v1/custom-tools' }}
          onSaved={onSaved}
        />
      )}
    </Workspace>
  );
}

/** A template picker and an editor for the files of the selected template. */
function FromTemplate({ onSaved }: { readonly onSaved: (tool: CustomToolView) => void }): ReactNode {
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
