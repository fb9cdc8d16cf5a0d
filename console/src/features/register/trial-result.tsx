import type { ReactNode } from 'react';
import type { LogEntryView, OutcomeView, TrialView } from '../../lib/api.js';
import { tierText } from '../../lib/tiers.js';
import { CallPanel } from '../../ui/call-panel.js';
import { Card, Facts, Note, Stack } from '../../ui/layout.js';
import { LogLines } from '../../ui/log-lines.js';

interface TrialResultProps {
  readonly trial: TrialView | undefined;
  readonly log: readonly LogEntryView[];
  readonly run: (inputText: string, signal: AbortSignal) => Promise<OutcomeView>;
}

/** A trial's result: the executable's handshake, its sandbox, a call of it, and its log. */
export const TrialResult = ({ trial, log, run }: TrialResultProps): ReactNode => (
  <Stack>
    {trial && <Started trial={trial} />}
    {trial && <CallPanel draft="trial" schema={trial.inputSchema} run={run} />}
    {log.length > 0 && (
      <Card title="What it wrote" flush>
        <LogLines label="What it wrote" lines={log} follows />
      </Card>
    )}
  </Stack>
);

const Started = ({ trial }: { readonly trial: TrialView }): ReactNode => {
  const { description, version, differences, effectiveSandbox } = trial;
  return (
    <Card title="It starts and answers">
      <Stack tight>
        <Facts
          facts={[
            ['Description', description],
            ['Version', version],
            ['Held by', tierText(effectiveSandbox.tier)],
            ['Not enforced here', effectiveSandbox.notEnforced.join(', ')],
          ]}
        />
        {differences.map((difference) => (
          <Note key={difference} tone="warn">
            {difference}
          </Note>
        ))}
      </Stack>
    </Card>
  );
};
