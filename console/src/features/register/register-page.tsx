import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { FilterSelect } from '../../ui/filters.js';
import { Page, Row, Stack } from '../../ui/layout.js';
import { useToast } from '../../ui/toasts.js';
import { ToolEditor } from './tool-editor.js';

const route = getRouteApi('/shell/tools/new');

const names = { 'an MCP server': 'mcp', 'tool.json': 'json' } as const;
type Name = keyof typeof names;
const options: readonly Name[] = ['an MCP server', 'tool.json'];

/** Makes a tool of a program, of an MCP server, or of what a tool.json says. */
export function RegisterPage(): ReactNode {
  const { from = 'command' } = route.useSearch();
  const navigate = route.useNavigate();
  const client = useQueryClient();
  const toast = useToast();
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
        <ToolEditor
          key={from === 'mcp' ? 'mcp' : 'program'}
          mode={from}
          isKnown={false}
          initial={from === 'mcp' ? { protocol: 'mcp' } : {}}
          save={{ method: 'POST', path: '/api/v1/custom-tools' }}
          trial={{ method: 'POST', path: '/api/v1/custom-tools/try' }}
          saveName="Save"
          onSaved={({ name, protocol }) => {
            void client.invalidateQueries({ queryKey: ['tools'] });
            toast('Registered', name);
            const to = protocol === 'mcp' ? '/tools/$name/settings' : '/tools/$name/try';
            void navigate({ to, params: { name } });
          }}
        />
      </Stack>
    </Page>
  );
}
