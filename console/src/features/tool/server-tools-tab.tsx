import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ActButton } from '../../app/act-button.js';
import { approveMcpTools, type McpToolsView, type McpToolView } from '../../lib/api.js';
import { counted } from '../../lib/format.js';
import { serverToolsQuery } from '../../lib/queries.js';
import { ChangesTable } from '../../ui/changes-table.js';
import { Badge, Button, type Tone } from '../../ui/controls.js';
import { FormDialog, inAudit } from '../../ui/form-dialog.js';
import { JsonText } from '../../ui/json-text.js';
import { Card, Note, Stack } from '../../ui/layout.js';
import { Empty, Loaded } from '../../ui/states.js';
import { Table } from '../../ui/table.js';
import { useDone } from '../../ui/toasts.js';

const route = getRouteApi('/shell/tools/$name/tools');

const tones: Readonly<Record<McpToolView['state'], Tone>> = {
  callable: 'good',
  held: 'warn',
  refused: 'bad',
  gone: 'none',
};

/** The tools that an MCP server lists: those that agents may call, and the approval of those that they may not call yet. */
export function ServerToolsTab(): ReactNode {
  const { name } = route.useParams();
  const list = useQuery(serverToolsQuery(name));
  return <Loaded query={list}>{(data) => <ServerTools server={name} list={data} />}</Loaded>;
}

interface ServerToolsProps {
  readonly server: string;
  readonly list: McpToolsView;
}

function ServerTools({ server, list: { listHash, data } }: ServerToolsProps): ReactNode {
  const { tool: shown } = route.useSearch();
  const chosen = data.find(({ tool }) => tool === shown);
  const held = data.filter(({ state }) => state === 'held');
  const approval = (name: string, tool?: string): ReactNode =>
    listHash !== null && <Approval {...{ server, listHash, name, tool }} />;
  return (
    <Stack>
      {held.length > 0 && (
        <Note tone="warn">
          {counted(held.length, 'tool')} of this server {held.length === 1 ? 'waits' : 'wait'} for approval:
          read the definitions first, because agents follow them.
        </Note>
      )}
      <Card title="Tools" flush actions={held.length > 0 && approval('Approve all')}>
        {data.length === 0 ? (
          <Empty title="This server lists no tools" />
        ) : (
          <List server={server} tools={data} />
        )}
      </Card>
      {chosen && (
        <Definition
          tool={chosen}
          actions={chosen.state === 'held' && approval(`Approve ${chosen.tool}`, chosen.tool)}
        />
      )}
    </Stack>
  );
}

interface ListProps {
  readonly server: string;
  readonly tools: readonly McpToolView[];
}

function List({ server, tools }: ListProps): ReactNode {
  const { tool: chosen } = route.useSearch();
  const navigate = route.useNavigate();
  const open = (tool: string): void => void navigate({ search: { tool }, replace: true, resetScroll: false });
  return (
    <Table
      label={`Tools of ${server}`}
      rows={tools}
      keyOf={({ tool }) => tool}
      isSelected={({ tool }) => tool === chosen}
      onOpen={({ tool }) => open(tool)}
      columns={[
        {
          ...{ name: 'Tool', isMono: true, width: 220 },
          cell: ({ tool, name, state }) =>
            state === 'callable' ? (
              <Link to="/tools/$name/activity" params={{ name }}>
                {tool}
              </Link>
            ) : (
              tool
            ),
        },
        { name: 'State', width: 100, cell: ({ state }) => <Badge state={state} tone={tones[state]} /> },
        { name: 'Why', cell: ({ why, warning }) => [why, warning].filter(Boolean).join('; ') },
        {
          ...{ name: 'Description', cut: true },
          // Read before it is approved: whole, because agents follow it.
          cell: (tool) => (
            <span style={tool.state === 'held' ? { whiteSpace: 'normal' } : undefined}>
              {descriptionOf(tool)}
            </span>
          ),
        },
        {
          name: 'Definition',
          width: 100,
          cell: ({ tool }) => (
            <Button small look="quiet" aria-pressed={tool === chosen} onClick={() => open(tool)}>
              Show
            </Button>
          ),
        },
      ]}
    />
  );
}

const descriptionOf = ({ approved, listed }: McpToolView): string => {
  const description = (listed ?? approved)?.['description'];
  return typeof description === 'string' ? marked(description) : '';
};

/** Shows invisible characters by their code, except emoji joiners. */
const marked = (text: string): string =>
  text.replace(
    /(?![\t\n\r]|\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cc}\p{DI}\ufff9-\ufffb]/gu,
    (hidden) => `[U+${hidden.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
  );

interface DefinitionProps {
  readonly tool: McpToolView;
  readonly actions: ReactNode;
}

/** A tool as agents read it; of one that changed since it was approved, what changed. */
const Definition = ({ tool: { tool, approved, listed, changes }, actions }: DefinitionProps): ReactNode => (
  <>
    {changes && changes.length > 0 && (
      <Card title={`What changed in ${tool} since it was approved`} flush>
        <ChangesTable label="What changed since it was approved" changes={changes} now="Listed now" />
      </Card>
    )}
    <Card
      title={listed ? `${tool} as it is listed now` : `${tool} as it was approved`}
      flush
      actions={actions}
    >
      <JsonText label={`Definition of ${tool}`} value={listed ?? approved}>
        {marked}
      </JsonText>
    </Card>
  </>
);

interface ApprovalProps {
  readonly server: string;
  readonly listHash: string;
  /** Absent: all that are held. */
  readonly tool?: string | undefined;
  readonly name: string;
}

/** An approval is of the list that was looked at: the server refuses it for another one. */
function Approval({ server, listHash, tool, name }: ApprovalProps): ReactNode {
  const client = useQueryClient();
  const done = useDone('tools');
  const body = { listHash, ...(tool !== undefined && { tools: [tool] }) };
  return (
    <ActButton small scope="tools:admin" name={name}>
      {(onClose) => (
        <FormDialog
          title={`${name} of ${server}?`}
          about="Agents then read these definitions as they are listed now, and may call the tools. It can be rolled back as a revision."
          name="Approve"
          reason={inAudit}
          send={(options, reason) =>
            approveMcpTools({ path: { name: server }, body: { ...body, reason }, ...options })
          }
          onDone={({ revision }) => done('Approved', `${server}, as its revision ${revision}`)}
          onFailed={() => client.invalidateQueries({ queryKey: serverToolsQuery(server).queryKey })}
          onClose={onClose}
        />
      )}
    </ActButton>
  );
}
