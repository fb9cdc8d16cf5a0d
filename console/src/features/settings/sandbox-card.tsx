import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { CustomToolView } from '../../lib/api.js';
import { customToolsQuery } from '../../lib/queries.js';
import { useSession } from '../../lib/session.js';
import { tierText } from '../../lib/tiers.js';
import { Card, Facts, Stack } from '../../ui/layout.js';

/** The sandbox of this host, in plain words. */
export function SandboxCard(): ReactNode {
  const { environment } = useSession();
  const { data: tools = [] } = useQuery({ ...customToolsQuery, enabled: environment !== null });
  if (!environment) return null;
  const { sandboxTier: tier, grantablePaths } = environment;
  const gaps = gapsOf(tools);
  return (
    <Card title="Sandbox">
      <Stack tight>
        <p>
          {tier === null
            ? 'There are no custom tools here.'
            : `Each custom tool runs with ${tierText(tier)}.`}
        </p>
        {tier !== null && (
          <p>
            Besides its own folder a tool may be granted{' '}
            {grantablePaths.length > 0 ? grantablePaths.join(', ') : 'nothing'} (
            <code>SANDBOX_GRANTABLE_PATHS</code>).
          </p>
        )}
        {tier !== null && gaps.length === 0 && (
          <p>All limits that the registered tools ask for are enforced.</p>
        )}
        {gaps.length > 0 && (
          <>
            <p>Not enforced here, of what the registered tools ask for:</p>
            <Facts facts={gaps} />
          </>
        )}
      </Stack>
    </Card>
  );
}

/** Rules that are not enforced for some tool, with the reason and how many it concerns. */
function gapsOf(tools: readonly CustomToolView[]): (readonly [name: string, text: string])[] {
  const gaps = new Map<string, { readonly why: string; tools: number }>();
  for (const { notEnforced, notes } of tools.map(({ effectiveSandbox }) => effectiveSandbox))
    for (const name of notEnforced) {
      const known = gaps.get(name) ?? { why: notes[name] ?? '', tools: 0 };
      known.tools += 1;
      gaps.set(name, known);
    }
  return [...gaps].map(([name, { why, tools: count }]) => [
    name,
    `${why}${why && ' '}(${count} of ${tools.length} tools)`,
  ]);
}
