import { useUiTool } from '../../bridge/use-page.js';
import type { TraceStore } from './trace-store.js';

/** Lets agents see which spans are collapsed, and highlight some. */
export function useTraceTools(store: TraceStore): void {
  useUiTool('get_collapsed_spans', () => ({ collapsedSpanIds: store.collapsedIds() }));
  useUiTool('highlight_spans', ({ spanIds, note = '' }) => {
    const ids = [spanIds].flat() as string[];
    const notFound = store.highlight(ids, note as string);
    return { success: notFound.length < ids.length, highlighted: ids.length - notFound.length, notFound };
  });
}
