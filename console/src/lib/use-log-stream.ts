import { useEffect, useRef, useState } from 'react';
import type { LogEntryView } from './api.js';
import type { StreamEvent } from './event-stream.js';
import { counted } from './format.js';
import { useTopic } from './live.js';
import { emptyRing, type LogRing, withLines } from './log-ring.js';

const most = 5_000;
/** Min interval between renderings. */
const drawMs = 100;

/** Follows a tool's log by the tab's stream: first its newest entries, then each new one. */
export function useLogStream(tool: string, isOn = true): LogRing<LogEntryView> {
  const [ring, setRing] = useState<LogRing<LogEntryView>>(emptyRing);
  const waiting = useRef<LogEntryView[]>([]);
  useEffect(() => {
    setRing(emptyRing);
    const timer = setInterval(() => {
      if (waiting.current.length === 0) return;
      const more = waiting.current;
      waiting.current = [];
      setRing((old) => withLines(old, more, most));
    }, drawMs);
    return () => {
      clearInterval(timer);
      waiting.current = [];
    };
  }, [tool]);
  useTopic(isOn ? `logs:${tool}` : undefined, (event) => waiting.current.push(entryOf(event, tool)));
  return ring;
}

/** An entry of the log, or a message about the log as an entry. */
function entryOf({ event, data }: StreamEvent, tool: string): LogEntryView {
  if (event === 'log') return JSON.parse(data) as LogEntryView;
  const timestamp = new Date().toISOString();
  const message = remarks[event]?.(data) ?? event;
  return { id: `${event} ${timestamp}`, timestamp, level: 'warn', tool, replica: '', event: 'log', message };
}

const remarks: Readonly<Record<string, (data: string) => string>> = {
  missed: (data) => `${counted((JSON.parse(data) as { entries: number }).entries, 'line')} are missing here`,
  reset: () => 'The server restarted: lines may be missing here',
  closed: () => 'The tool was removed: nothing more will come',
  refused: (why) => `The log cannot be followed: ${why}`,
};
