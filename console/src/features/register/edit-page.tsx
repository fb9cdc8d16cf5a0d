import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { CustomToolCreate, CustomToolView } from '../../lib/api.js';
import { customToolQuery } from '../../lib/queries.js';
import { Button } from '../../ui/controls.js';
import { Page } from '../../ui/layout.js';
import { Loaded } from '../../ui/states.js';
import { useToast } from '../../ui/toasts.js';
import { ToolEditor } from './tool-editor.js';

const route = getRouteApi('/shell/tools/$name/edit');

/** Changes a tool: saving makes a new revision, which can be rolled back. */
export function EditPage(): ReactNode {
  const { name } = route.useParams();
  const navigate = route.useNavigate();
  const client = useQueryClient();
  const toast = useToast();
  const [isJson, setJson] = useState(false);
  const tool = useQuery({ ...customToolQuery(name), staleTime: Infinity });
  const path = `/api/v1/custom-tools/${encodeURIComponent(name)}`;
  return (
    <Page
      name={`Edit ${name}`}
      about="What is left out stays as it is. Values of variables are not shown; write one to change it."
      actions={
        <Button aria-pressed={isJson} onClick={() => setJson(!isJson)}>
          As JSON
        </Button>
      }
    >
      <Loaded query={tool}>
        {(data) => (
          <ToolEditor
            mode={isJson ? 'json' : data.protocol === 'mcp' ? 'mcp' : 'path'}
            isKnown
            initial={changeable(data)}
            save={{ method: 'PATCH', path }}
            trialPath={`${path}/try`}
            saveName="Save revision"
            onSaved={({ revision }) => {
              void client.invalidateQueries({ queryKey: ['tools'] });
              toast(`Saved ${name}`, `as revision ${revision}`);
              void navigate({ to: '/tools/$name/revisions', params: { name }, search: { revision } });
            }}
          />
        )}
      </Loaded>
    </Page>
  );
}

/** The shown members that may be sent back; values of variables are secrets, and stay where they are. */
function changeable(tool: CustomToolView): Partial<CustomToolCreate> {
  const { description, version, workingDir, timeoutMs, maxRetries, retryDelayMs, poolSize, minProcesses } =
    tool;
  const { maxConcurrency, keepAlive, annotations, thresholds, sandbox, permissions, tags, capture } = tool;
  const { callsPerInvestigation, cacheTtlMs, fallback, protocol, inputSchema, url, command, args } = tool;
  return {
    ...{ description, version, workingDir, timeoutMs, maxRetries, retryDelayMs, poolSize, minProcesses },
    ...{ maxConcurrency, keepAlive, annotations, thresholds, sandbox, permissions, tags, capture },
    ...{ callsPerInvestigation, cacheTtlMs, ...(fallback && { fallback }) },
    ...(protocol === 'mcp' ? {} : { inputSchema }),
    ...(url === null ? { command, args } : { url }),
  };
}
