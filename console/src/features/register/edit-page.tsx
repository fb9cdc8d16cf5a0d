import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import {
  ask,
  type BundleFileView,
  type CustomToolCreate,
  type CustomToolView,
  replaceToolBundle,
} from '../../lib/api.js';
import { bundleFilesQuery, customToolQuery } from '../../lib/queries.js';
import { Muted, Workspace } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { Empty, Loaded } from '../../ui/states.js';
import { useDone } from '../../ui/toasts.js';
import { FilesEditor } from './files-editor.js';
import { ToolEditor } from './tool-editor.js';

const route = getRouteApi('/shell/tools/$name/edit');

const forms = { settings: 'Settings', json: 'Settings as JSON' } as const;
const formsOfBundle = { files: 'Files', ...forms } as const;

const aboutFiles = 'All files are stored together, as one revision, which can be rolled back.';
const aboutSettings =
  'Members that are left out do not change. Variables are not shown; enter one to change it.';

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

interface BundleEditorProps {
  readonly tool: string;
  readonly onSaved: (tool: CustomToolView) => void;
}

/** The files that a registered tool brought. They are replaced together: where one of them cannot be read, none is. */
function BundleEditor({ tool, onSaved }: BundleEditorProps): ReactNode {
  const files = useQuery({ ...bundleFilesQuery(tool), staleTime: Infinity });
  return (
    <Loaded query={files}>
      {({ data, complete }) =>
        complete ? (
          <FilesEditor
            draft={`files ${tool}`}
            about={<Muted>A dry run uses these files and the current settings of the tool.</Muted>}
            toolName={tool}
            isKnown
            files={data.filter(isText)}
            save={(name, body, reason) => ask(replaceToolBundle({ path: { name }, query: { reason }, body }))}
            onSaved={onSaved}
          />
        ) : (
          <Empty title="These files cannot be edited here: some are not text, or they are too large">
            <p>
              Change the original files, and register them again:{' '}
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
