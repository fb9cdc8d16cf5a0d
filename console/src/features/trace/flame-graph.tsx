import { type KeyboardEvent, memo, type ReactNode, type SyntheticEvent, useMemo, useState } from 'react';
import { cost, counted, duration, percent } from '../../lib/format.js';
import { Muted, Row } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { boxesOf, type FlameBox, flameOf, type Frame } from './flame.js';
import css from './flame-graph.module.css';
import type { Trace } from './trace.js';

const measures = { time: 'Time', cost: 'Cost' } as const;
const rowHeight = 24;
/** Sums of shares differ by less. */
const tiny = 1e-9;

const figuresOf = ({ count, selfMs, totalMs, cost: dollars }: Frame): string =>
  `${counted(count, 'span')}, self ${duration(selfMs)}, total ${duration(totalMs)}, cost ${cost(dollars)}`;

/** The place of the box that an event concerns; NaN if there is none. */
const placeOf = ({ target }: SyntheticEvent): number => Number((target as HTMLElement).dataset['box']);

/** Spans by call path, as wide as the time or the cost of them and of those below. */
export function FlameGraph({ trace }: { readonly trace: Trace }): ReactNode {
  const whole = useMemo(() => flameOf(trace), [trace]);
  const [by, setBy] = useState<keyof typeof measures>('time');
  const [top, setTop] = useState(whole);
  const [at, setAt] = useState(0);
  const boxes = useMemo(() => boxesOf(top, by), [top, by]);
  const seen = boxes[at]?.frame ?? top;
  const zoom = (event: SyntheticEvent): void => {
    event.currentTarget.querySelector('button')?.focus();
    setTop((top === seen ? top.above : seen) ?? whole);
    setAt(0);
  };
  const onKey = (event: KeyboardEvent): void => {
    const next = nextOf(boxes, placeOf(event), event.key);
    if (next >= 0) event.preventDefault();
    event.currentTarget.querySelectorAll('button')[next]?.focus();
  };
  return (
    <div className={css.flame}>
      <Row>
        <Modes
          label="Width"
          names={measures}
          value={by}
          onChange={setBy}
          isOff={(each) => whole[each] === 0}
        />
        <Muted>Select a box to zoom in, the first one to zoom out. What runs at once adds up.</Muted>
      </Row>
      <p className={css.seen}>
        <strong>{seen.name}</strong> {seen.operation !== seen.name && seen.operation} {figuresOf(seen)},{' '}
        {percent(seen[by] / (whole[by] || 1))} of the {by}
      </p>
      <div
        role="group"
        aria-label="Flame graph"
        className={css.boxes}
        style={{ height: ((boxes.at(-1)?.depth ?? 0) + 1) * rowHeight }}
        onClick={zoom}
        onKeyDown={onKey}
        onFocus={(event) => setAt(placeOf(event))}
        onMouseOver={(event) => setAt(placeOf(event))}
      >
        <Boxes boxes={boxes} />
      </div>
    </div>
  );
}

const Boxes = memo(({ boxes }: { readonly boxes: readonly FlameBox[] }) =>
  boxes.map(({ frame, depth, left, width }, place) => (
    <button
      key={place}
      type="button"
      tabIndex={place === 0 ? 0 : -1}
      aria-label={`${frame.name}: ${figuresOf(frame)}`}
      className={css.box}
      data-box={place}
      data-kind={frame.kind}
      style={{ left: `${left * 100}%`, width: `${width * 100}%`, top: depth * rowHeight }}
    >
      {frame.name}
    </button>
  )),
);
Boxes.displayName = 'Boxes';

/** The box to which a key leads: the one above, the first one below, or the one beside. @returns -1 if there is none */
function nextOf(boxes: readonly FlameBox[], at: number, key: string): number {
  const { depth, left, width } = boxes[at] ?? { depth: 0, left: 0, width: 0 };
  const isBelow = (box: FlameBox): boolean =>
    box.depth > depth && box.left >= left - tiny && box.left < left + width - tiny;
  if (key === 'ArrowDown') return boxes.findIndex(isBelow);
  if (key === 'ArrowUp') return boxes.findLastIndex((box) => box.depth < depth && box.left <= left + tiny);
  return { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: boxes.length - 1 }[key] ?? -1;
}
