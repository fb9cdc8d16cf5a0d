import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CustomToolView } from '../../lib/api.js';
import { FilterSelect } from '../../ui/filters.js';
import { Page, Row, Stack } from '../../ui/layout.js';
import { useToast } from '../../ui/toasts.js';
import { FromTemplate } from './from-template.js';
import { ToolEditor } from './tool-editor.js';

const route = getRouteApi('/shell/tools/new');

const names = { 'a template': 'template', 'an MCP server': 'mcp', 'tool.json': 'json' } as const;
type Name = keyof typeof names;
const options: readonly Name[] = ['a template', 'an MCP server', 'tool.json'];

/** Makes a tool of a template, of a program, of an MCP server, or of what a tool.json says. */
export function RegisterPage(): ReactNode {
  const { from = 'path' } = route.useSearch();
  const navigate = route.useNavigate();
  const client = useQueryClient();
  const toast = useToast();
  const onSaved = ({ name, protocol }: CustomToolView): void => {
    void client.invalidateQueries({ queryKey: ['tools'] });
    toast('Registered', name);
    const to = protocol === 'mcp' ? '/tools/$name/tools' : '/tools/$name/try';
    void navigate({ to, params: { name } });
  };
  return (
    <Page
      name="Register a tool"
      about="Any program that reads a line of JSON and writes one becomes a tool, without a restart. Try it before you save it."
    >
      <Stack>
        <Row>
          <FilterSelect<Name>
            label="From"
            none="a program"
            options={options}
            value={options.find((name) => names[name] === from)}
            onChange={(name) => void navigate({ search: { from: name && names[name] }, replace: true })}
          />
        </Row>
        {from === 'template' ? (
          <FromTemplate onSaved={onSaved} />
        ) : (
          <ToolEditor
            key={from === 'mcp' ? 'mcp' : 'program'}
            mode={from}
            isKnown={false}
            initial={from === 'mcp' ? { protocol: 'mcp' } : {}}
            save={{ method: 'POST', path: '/api/v1/custom-tools' }}
            trialPath="/api/v1/custom-tools/try"
            saveName="Save"
            onSaved={onSaved}
          />
        )}
      </Stack>
    </Page>
  );
}
