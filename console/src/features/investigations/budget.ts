import type { InvestigationBudgetView, ToolBudgetView } from '../../lib/api.js';

interface BudgetSums {
  readonly calls: number;
  /** Tools that this investigation may not call any more. */
  readonly spent: readonly string[];
  /** The tool that is nearest to its limit; undefined if none has one. */
  readonly nearest: ToolBudgetView | undefined;
}

export function sumsOf({ tools }: InvestigationBudgetView): BudgetSums {
  const limited = tools.filter(({ remaining }) => remaining !== null);
  const [nearest] = limited.toSorted((a, b) => shareLeft(a) - shareLeft(b));
  return {
    calls: tools.reduce((sum, { used }) => sum + used, 0),
    spent: limited.filter(({ remaining }) => remaining === 0).map(({ tool }) => tool),
    nearest,
  };
}

const shareLeft = ({ limit, remaining }: ToolBudgetView): number => (remaining ?? limit) / limit;

/** "3 of 10 left", "all 10 spent"; for a tool with a limit. */
export const leftText = ({ limit, remaining }: ToolBudgetView): string =>
  remaining === 0 ? `all ${limit} spent` : `${remaining} of ${limit} left`;
