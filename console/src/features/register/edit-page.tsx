import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CustomToolCreate, CustomToolView } from '../../lib/api.js';
import { customToolQuery } from '../../lib/queries.js';
import { Workspace } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { Loaded } from '../../ui/states.js';
import { useDone } from '../../ui/toasts.js';
import { BundleEditor } from './bundle-editor.js';
import { ToolEditor } from './tool-editor.js';

const route = getRouteApi('/shell/tools/$name/edit');

const forms = { settings: 'Settings', json: 'Settings as JSON' } as const;
const formsOfBundle = { files: 'Files', ...forms } as const;

const aboutFiles = 'All files are stored together, as one revision, which can be rolled back.';
const aboutSettings =
  'What is left out stays as it is. Values of variables are not shown; write one to change it.';

/**
 * Fetched again each time, so that saving does not undo another's change; not while it is edited.
 * The settings of before are shown where the server does not answer.
 */
function useEdited(name: string) {
  const tool = useQuery({
    ...customToolQuery(name),
    ...{ queryKey: ['edited', name], staleTime: Infinity, refetchOnMount: 'always' },
  });
  return tool.isFetchedAfterMount ? tool : { ...tool, data: undefined, error: null };
}

/** Changes a tool: saving makes a new revision, which can be rolled back. */
export function EditPage(): ReactNode {
  const { name } = route.useParams();
  const { as } = route.useSearch();
  const navigate = route.useNavigate();
  const done = useDone('tools');
  const tool = useEdited(name);
  const hasFiles = typeof tool.data?.bundle === 'string';
  const form = as ?? (hasFiles ? 'files' : 'settings');
  const onSaved = ({ revision }: CustomToolView): void => {
    done(`Saved ${name}`, `as revision ${revision}`);
    void navigate({ to: '/tools/$name/revisions', params: { name }, search: { revision } });
  };
  return (
    <Workspace
      name={`Edit ${name}`}
      about={form === 'files' ? aboutFiles : aboutSettings}
      actions={
        <Modes
          label="What is edited"
          names={hasFiles ? formsOfBundle : forms}
          value={form}
          onChange={(chosen) => void navigate({ search: { as: chosen }, replace: true })}
        />
      }
    >
      <Loaded query={tool}>
        {(data) =>
          form === 'files' ? (
            <BundleEditor tool={name} onSaved={onSaved} />
          ) : (
            <ToolEditor
              mode={form === 'json' ? 'json' : data.protocol === 'mcp' ? 'mcp' : 'path'}
              isKnown
              initial={changeable(data)}
              save={{ method: 'PATCH', path: `/api/v1/custom-tools/${encodeURIComponent(name)}` }}
              onSaved={onSaved}
            />
          )
        }
      </Loaded>
    </Workspace>
  );
}

/** Members that are not sent back: the server made them, or they never change. All others are settings. */
const notSent = {
  ...{ id: true, bundle: true, pinnedCommand: true, revision: true, effectiveSandbox: true, warnings: true },
  ...{ status: true, healthStatus: true, lastHealthCheck: true, errorMessage: true },
  ...{ createdAt: true, updatedAt: true, replicas: true, tools: true },
} satisfies Record<Exclude<keyof CustomToolView, keyof CustomToolCreate>, true>;

/** The shown settings, to be changed; values of variables and headers are secrets, and stay where they are. */
function changeable(tool: CustomToolView): Partial<CustomToolCreate> {
  const { fallback, protocol, inputSchema, url, command, args, ...others } = tool;
  const secretOrFixed = { ...notSent, name: true, env: true, headers: true };
  const settings = Object.entries(others).filter(([name]) => !(name in secretOrFixed));
  return {
    ...(Object.fromEntries(settings) as Partial<CustomToolCreate>),
    ...(fallback && { fallback }),
    ...(protocol === 'mcp' ? {} : { inputSchema }),
    ...(url === null ? { command, args } : { url }),
  };
}
