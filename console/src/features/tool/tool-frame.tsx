import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, Navigate, Outlet, useMatchRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { serverOf, unavailableOf } from '../../lib/all-tools.js';
import type { CircuitView, CustomToolView, LastErrorView, ToolReportView, ToolView } from '../../lib/api.js';
import { circuitQuery, reportQuery, toolQuery, toolsQuery } from '../../lib/queries.js';
import { useMayOpen } from '../../lib/may-open.js';
import { usePermission } from '../../lib/session.js';
import type { Unavailable } from '../../lib/unavailable.js';
import { courseOf } from '../../lib/urgency.js';
import { AskButton } from '../../ui/ask-button.js';
import { Clamped } from '../../ui/clamped.js';
import { buttonLook, Tag } from '../../ui/controls.js';
import { DidYouMean } from '../../ui/did-you-mean.js';
import { FindingsLink } from '../../ui/findings.js';
import { GradeLine, LastError } from '../../ui/grade-line.js';
import { Centered, Note, Notes, Page, Row } from '../../ui/layout.js';
import { Empty, Failed, Loading } from '../../ui/states.js';
import { Tabs } from '../../ui/tabs.js';
import { Since } from '../../ui/time.js';
import { ReportState, ToolState } from '../../ui/tool-state.js';
import { CircuitControls, HoldOpen, ToolActDialog, ToolMenu } from './tool-acts.js';
import css from './tool.module.css';
import { useRegistration } from './use-registration.js';

const route = getRouteApi('/shell/tools/$name');

const tabs = [
  { to: '/tools/$name/activity', name: 'Activity' },
  { to: '/tools/$name/try', name: 'Try' },
  { to: '/tools/$name/health', name: 'Health' },
  { to: '/tools/$name/circuit', name: 'Circuit' },
] as const;
/** Tabs of registered tools alone. */
const customTabs = [
  { to: '/tools/$name/logs', name: 'Logs' },
  { to: '/tools/$name/revisions', name: 'Revisions' },
  { to: '/tools/$name/settings', name: 'Settings' },
] as const;
/** An MCP server is no tool that could be called or graded: each of those that it lists is. */
const serverTabs = [{ to: '/tools/$name/tools', name: 'Tools' }, ...customTabs] as const;

/** One tool: what it is, how it is, and its screens. */
export function ToolFrame(): ReactNode {
  const { name } = route.useParams();
  const { custom, isCertain, isServer, isTool, mayCall, tool, kind } = useTool(name);
  const { report, circuit, isLoading } = useHealth(name, isTool);
  const unavailable = (custom && unavailableOf(custom)) ?? report?.unavailable;
  const error = report?.now.lastError;
  const isAt = useMatchRoute();
  const isAtCircuit = Boolean(isAt({ to: '/tools/$name/circuit' }));
  const isAtBench = Boolean(isAt({ to: '/tools/$name/try' }));
  const mayHold = !isAtCircuit && circuit?.state === 'closed' && isFailing(report);
  // A tool that is disabled or cannot start is not callable, and still has its history.
  // A key that may not call it sees how it does.
  const isKnown = tool.data ?? custom ?? (!mayCall && report);
  if (!isKnown || isLoading) {
    return (
      <Page name={name}>
        {!mayCall && isCertain && !isLoading ? (
          <Empty title="No such tool" />
        ) : tool.error && isCertain ? (
          <>
            <Failed error={tool.error} retry={() => void tool.refetch()} />
            <Meant name={name} />
          </>
        ) : (
          <Loading />
        )}
      </Page>
    );
  }
  return (
    <div className={isAtBench ? css.fill : undefined} data-workspace={isAtBench ? '' : undefined}>
      <Page
        name={name}
        title={
          <>
            {name}
            {!isServer && report && <ReportState report={report} />}
            <ToolState unavailable={unavailable} circuit={circuit?.state} />
            <Tag>{isServer ? 'server' : kind}</Tag>
            {!isServer && report && <GradeLine report={report} />}
            {!isServer && <FindingsLink tool={name} findings={report?.findings} />}
          </>
        }
        about={<Clamped text={tool.data?.description ?? custom?.description ?? ''} />}
        actions={<Actions {...{ name, custom, mayHold, kind }} />}
      >
        <Screens name={name} isServer={isServer} isCustom={custom !== undefined} />
        <Notices {...{ name, custom, unavailable, error }} circuit={isAtCircuit ? undefined : circuit} />
        <div className={css.outlet}>
          {isServer && tabs.some(({ to }) => isAt({ to })) ? (
            <Navigate to="/tools/$name/tools" params={{ name }} replace />
          ) : (
            <Outlet />
          )}
        </div>
        <ToolActDialog />
      </Page>
    </div>
  );
}

const isFailing = (report: ToolReportView | null | undefined): boolean =>
  report != null &&
  courseOf(report) !== 'recovering' &&
  (courseOf(report) === 'failing' || report.status === 'unhealthy');

interface NoticesProps {
  readonly name: string;
  readonly custom: CustomToolView | undefined;
  readonly unavailable: Unavailable | undefined;
  readonly circuit: CircuitView | undefined;
  readonly error: LastErrorView | null | undefined;
}

/** Why its calls are refused, on every screen of a tool. */
function Notices({ name, custom, unavailable, circuit, error }: NoticesProps): ReactNode {
  const fault = custom?.errorMessage;
  // The screen of a server's tools has its own notice of them.
  const isTold = useMatchRoute()({ to: '/tools/$name/tools' }) && fault?.includes('held back');
  return (
    <Notes>
      {fault && !isTold && <Note tone="bad">{fault}</Note>}
      {unavailable?.state === 'held' && (
        <Note tone="bad">
          <Row>
            <span>Its calls are refused: {unavailable.why}</span>
            <Link
              to="/tools/$name/tools"
              params={{ name: serverOf(name) }}
              className={buttonLook('primary', true)}
            >
              Review
            </Link>
          </Row>
        </Note>
      )}
      {circuit && circuit.state !== 'closed' && <Refusing {...{ circuit, error }} />}
    </Notes>
  );
}

interface ScreensProps {
  readonly name: string;
  readonly isServer: boolean;
  readonly isCustom: boolean;
}

function Screens({ name, isServer, isCustom }: ScreensProps): ReactNode {
  const mayOpen = useMayOpen();
  const all = isServer ? serverTabs : [...tabs, ...(isCustom ? customTabs : [])];
  return (
    <Tabs label={name}>
      {all
        .filter(({ to }) => mayOpen(to))
        .map(({ to, name: title }) => (
          <Link key={to} to={to} params={{ name }} activeOptions={{ includeSearch: false }}>
            {title}
          </Link>
        ))}
    </Tabs>
  );
}

/** The tool's registration, kind and definition. Only callers who may call it can read the definition. */
function useTool(name: string) {
  const { custom, isCertain } = useRegistration(name);
  const isServer = custom?.protocol === 'mcp';
  const isTool = isCertain && !isServer;
  const mayCall = usePermission('tools:call') !== 'no';
  const isAsked = mayCall && isTool && custom?.status !== 'inactive';
  const tool = useQuery({ ...toolQuery(name), enabled: isAsked });
  const ofServer = useRegistration(serverOf(name)).custom?.protocol === 'mcp';
  const kind = tool.data?.kind ?? (custom ? 'custom' : ofServer ? 'mcp' : 'builtin');
  return { custom, isCertain, isServer, isTool, mayCall, tool, kind };
}

/** Grade and circuit, which the head is drawn with, so that nothing moves afterwards. A refusal counts as an answer. */
function useHealth(name: string, isTool: boolean) {
  const { data: report, isFetched: isGraded } = useQuery(reportQuery(name));
  const { data: circuit, isFetched } = useQuery({ ...circuitQuery(name), enabled: isTool });
  return { report, circuit, isLoading: !isGraded || (isTool && !isFetched) };
}

interface ActionsProps {
  readonly name: string;
  readonly custom: CustomToolView | undefined;
  readonly kind: ToolView['kind'];
  /** It fails, and its circuit is closed. */
  readonly mayHold: boolean;
}

/** The actions on a tool, and a link to the audit of earlier ones. */
function Actions({ name, custom, kind, mayHold }: ActionsProps): ReactNode {
  const maySeeAudit = usePermission('audit:read') !== 'no';
  const mayEdit = usePermission('tools:admin') !== 'no';
  return (
    <>
      {mayHold && <HoldOpen />}
      {maySeeAudit && (
        <Link to="/settings/audit" search={{ target: name }} className={buttonLook('quiet')}>
          Audit
        </Link>
      )}
      <AskButton question={`How is the tool \`${name}\` doing?`} />
      {custom && mayEdit && (
        <Link to="/tools/$name/edit" params={{ name }} className={buttonLook()}>
          Edit
        </Link>
      )}
      {custom ? <ToolMenu status={custom.status} /> : kind === 'mcp' && <Server of={name} />}
    </>
  );
}

/** The way from a tool to the MCP server that lists it. */
const Server = ({ of: tool }: { readonly of: string }): ReactNode => (
  <Link to="/tools/$name/tools" params={{ name: serverOf(tool) }} className={buttonLook()}>
    Its server
  </Link>
);

/** A notice on every screen of a tool whose circuit is not closed. */
const Refusing = ({ circuit, error }: Pick<NoticesProps, 'error'> & { circuit: CircuitView }): ReactNode => (
  <Note tone={circuit.state === 'open' ? 'bad' : 'warn'}>
    <Row>
      <span>
        {circuit.state === 'open' ? 'Its calls are refused' : 'A few calls try it, the others are refused'}{' '}
        <Since at={circuit.openSince ?? circuit.since} />:{' '}
        {error && !circuit.heldByHand ? <LastError of={error} /> : circuit.reason}
      </span>
      <CircuitControls {...circuit} />
    </Row>
  </Note>
);

/** Suggestions for an unknown tool name. */
function Meant({ name }: { readonly name: string }): ReactNode {
  const { data: tools = [] } = useQuery(toolsQuery);
  const known = tools.map((each) => each.name);
  const placeOf = (tool: string): string => `/tools/${encodeURIComponent(tool)}/activity`;
  return (
    <Centered>
      <DidYouMean {...{ name, known, placeOf }} /> <Link to="/tools">All tools</Link>
    </Centered>
  );
}
