import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ActButton } from '../../app/act-button.js';
import {
  createMcpServer,
  deleteMcpServer,
  type MemberBody,
  type McpServerView,
  updateMcpServer,
} from '../../lib/api.js';
import { serverOf } from '../../lib/all-tools.js';
import { counted } from '../../lib/format.js';
import { mcpServersQuery, toolsQuery } from '../../lib/queries.js';
import { useSession } from '../../lib/session.js';
import { Button, Field, TextField } from '../../ui/controls.js';
import { FormDialog, inAudit } from '../../ui/form-dialog.js';
import { Muted, Row, Stack } from '../../ui/layout.js';
import { Combobox } from '../../ui/select.js';
import { Table } from '../../ui/table.js';
import { useDone } from '../../ui/toasts.js';
import css from './connect.module.css';

const columns = [
  { name: 'Name', cell: ({ name }: McpServerView) => <code>/mcp/{name}</code> },
  {
    name: 'Tools',
    cell: ({ tools, missing }: McpServerView) =>
      counted(tools.length, 'tool') + (missing.length > 0 ? `, missing: ${missing.join(', ')}` : ''),
  },
  {
    name: 'Change',
    cell: (server: McpServerView) => (
      <Row>
        <ActButton small scope="tools:admin" name={`Edit ${server.name}`}>
          {(close) => <EditDialog server={server} onClose={close} />}
        </ActButton>
        <ActButton small look="danger" scope="tools:admin" name={`Delete ${server.name}`}>
          {(close) => <DeleteDialog server={server} onClose={close} />}
        </ActButton>
      </Row>
    ),
  },
];

/** Sets of tools at addresses of their own. */
export function VirtualServers(): ReactNode {
  const { data: servers = [] } = useQuery(mcpServersQuery(useSession()));
  return (
    <section className={css.teach}>
      <h2>Virtual MCP servers</h2>
      <p>
        A set of tools at an address of its own, for agents that need no others. A key can be bound to it.
      </p>
      {servers.length > 0 && (
        <Table label="Virtual MCP servers" rows={servers} columns={columns} keyOf={({ name }) => name} />
      )}
      <Row>
        <ActButton scope="tools:admin" name="Make a virtual server">
          {(close) => <EditDialog onClose={close} />}
        </ActButton>
      </Row>
    </section>
  );
}

interface DialogProps {
  /** Absent: it is made. */
  readonly server?: McpServerView;
  readonly onClose: () => void;
}

function EditDialog({ server, onClose }: DialogProps): ReactNode {
  const [name, setName] = useState(server?.name ?? '');
  const [members, setMembers] = useState<readonly MemberBody[]>(server?.members ?? []);
  const done = useDone('mcp-servers', 'audit');
  const body = { members: [...members] };
  return (
    <FormDialog
      title={server ? `Edit ${server.name}` : 'Make a virtual server'}
      name="Save"
      isReady={/^[\w.-]+$/.test(name) && members.length > 0}
      send={(options) =>
        server
          ? updateMcpServer({ path: { name }, body, ...options })
          : createMcpServer({ body: { name, ...body }, ...options })
      }
      onDone={() => done('Virtual server saved', `/mcp/${name}`)}
      onClose={onClose}
    >
      {!server && (
        <TextField
          label="Name"
          required
          maxLength={64}
          value={name}
          onText={setName}
          help={`Its address ends in /mcp/${name}`}
        />
      )}
      <Members members={members} onChange={setMembers} />
    </FormDialog>
  );
}

const kinds = ['tool', 'prompt', 'resource', 'tag', 'server'] as const;
const labelOf = (member: MemberBody): string =>
  kinds.flatMap((kind) => (member[kind] === undefined ? [] : [`${kind} ${member[kind]}`])).join();

interface MembersProps {
  readonly members: readonly MemberBody[];
  readonly onChange: (members: readonly MemberBody[]) => void;
}

function Members({ members, onChange }: MembersProps): ReactNode {
  const { data: tools = [] } = useQuery(toolsQuery);
  const offered = new Map(
    [
      ...tools.map(({ name: tool }) => ({ tool })),
      ...tools.flatMap(({ tags }) => tags.map((tag) => ({ tag }))),
      ...tools.filter(({ kind }) => kind === 'mcp').map(({ name }) => ({ server: serverOf(name) })),
    ].map((member: MemberBody) => [labelOf(member), member]),
  );
  const replace = (at: number, ...by: MemberBody[]): void => onChange(members.toSpliced(at, 1, ...by));
  return (
    <Stack tight>
      <Field label="Add a tool, a tag or an MCP server">
        {(tie) => (
          <Combobox
            key={members.length}
            id={tie.id}
            label="Add a tool, a tag or an MCP server"
            value={undefined}
            options={[...offered.keys()].filter((label) => !members.some((each) => labelOf(each) === label))}
            nothing="There is no such tool, tag or MCP server"
            onChange={(label) => {
              const member = offered.get(label ?? '');
              if (member) onChange([...members, member]);
            }}
          />
        )}
      </Field>
      {members.map((member, at) => (
        <Row key={labelOf(member)}>
          <Muted>{labelOf(member)}</Muted>
          {(member.tool ?? member.prompt) !== undefined && (
            <input
              aria-label={`Own name of ${labelOf(member)}`}
              placeholder="own name"
              maxLength={128}
              value={member.as ?? ''}
              onChange={({ target: { value: as } }) => {
                const { as: _before, ...others } = member;
                replace(at, { ...others, ...(as && { as }) });
              }}
            />
          )}
          <Button small aria-label={`Remove ${labelOf(member)}`} onClick={() => replace(at)}>
            Remove
          </Button>
        </Row>
      ))}
    </Stack>
  );
}

function DeleteDialog({ server, onClose }: Required<DialogProps>): ReactNode {
  const { name } = server;
  const done = useDone('mcp-servers', 'audit');
  return (
    <FormDialog
      title={`Delete ${name}?`}
      about={`/mcp/${name} is not found from then on. Its tools stay. Keys that are bound to it alone call none any more.`}
      name="Delete virtual server"
      look="danger"
      reason={inAudit}
      send={(options, reason) => deleteMcpServer({ path: { name }, query: { reason }, ...options })}
      onDone={() => done('Virtual server deleted', name)}
      onClose={onClose}
    />
  );
}
