import { type KeyboardEvent, memo, type ReactNode, type SyntheticEvent, useMemo, useState } from 'react';
import { cost, counted, duration, percent } from '../../lib/format.js';
import { Muted, Row } from '../../ui/layout.js';
import { Modes } from '../../ui/modes.js';
import { boxesOf, type FlameBox, flameOf, type Frame } from './flame.js';
import css from './flame-graph.module.css';
import type { Trace } from './trace.js';

const measures = { time: 'Time', cost: 'Cost' } as const;
const rowHeight = 24;

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
  const see = (event: SyntheticEvent): void => setAt(placeOf(event));
  const zoom = ({ currentTarget }: SyntheticEvent): void => {
    currentTarget.querySelector('button')?.focus();
    setTop((top === seen ? top.above : seen) ?? whole);
    setAt(0);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = event.currentTarget.querySelectorAll('button')[nextOf(boxes, placeOf(event), event.key)];
    if (next) event.preventDefault();
    next?.focus();
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
      <p>
        <strong>{seen.name}</strong> {seen.operation !== seen.name && seen.operation} {figuresOf(seen)},{' '}
        {percent(seen[by] / (whole[by] || 1))} of the {by}
      </p>
      <div
        role="group"
        aria-label="Flame graph"
        style={{ position: 'relative', height: ((boxes.at(-1)?.depth ?? 0) + 1) * rowHeight }}
        {...{ onKeyDown, onClick: zoom, onFocus: see, onMouseOver: see }}
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
      data-box={place}
      data-kind={frame.kind}
      style={{ left: `${left * 100}%`, width: `${width * 100}%`, top: depth * rowHeight }}
    >
      {frame.name}
    </button>
  )),
);
Boxes.displayName = 'Boxes';

/** The box to which a key leads: one above, below or beside. Sums of shares may differ a little. */
function nextOf(boxes: readonly FlameBox[], at: number, key: string): number {
  const { depth = 0, left = 0 } = boxes[at] ?? {};
  if (key === 'ArrowDown') return boxes.findIndex((box) => box.depth > depth && box.left > left - 1e-9);
  if (key === 'ArrowUp') return boxes.findLastIndex((box) => box.depth < depth && box.left < left + 1e-9);
  return at + ({ ArrowRight: 1, ArrowLeft: -1 }[key] ?? NaN);
}
