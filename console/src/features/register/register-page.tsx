import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CustomToolView } from '../../lib/api.js';
import { Workspace } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { useDone } from '../../ui/toasts.js';
import { FromTemplate } from './from-template.js';
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
