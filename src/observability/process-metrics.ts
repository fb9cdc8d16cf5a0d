import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';
import { type Tally, ToolTallies } from './tool-tallies.js';

/** The processes of one tool at this moment. */
export interface ProcessSample {
  readonly tool: string;
  readonly starting: number;
  readonly idle: number;
  readonly busy: number;
  /** Resident memory of all of them, bytes. */
  readonly rssBytes: number;
}

interface ProcessTally extends Tally {
  spawned: number;
  strayLines: number;
  readonly terminated: Map<string, number>;
}

/** What the pools' owner counts; the gauges are asked of its source when somebody scrapes. */
@Injectable()
export class ProcessMetrics {
  private readonly tallies = new ToolTallies<ProcessTally>(() => ({
    live: 0,
    forgotten: false,
    spawned: 0,
    strayLines: 0,
    terminated: new Map(),
  }));
  private source: () => Iterable<ProcessSample> = () => [];

  constructor(registry: Registry) {
    this.makeCounters([registry]);
    this.makeStrayLines([registry]);
    this.makeGauges([registry]);
  }

  spawned(tool: string): void {
    this.tallies.begin(tool).spawned += 1;
  }

  terminated(tool: string, reason: string): void {
    const { terminated } = this.tallies.end(tool);
    terminated.set(reason, (terminated.get(reason) ?? 0) + 1);
  }

  /** A line on a tool's stdout that was no message. */
  strayLine(tool: string): void {
    this.tallies.of(tool).strayLines += 1;
  }

  /** Its series have begun and are not removed. */
  has(tool: string): boolean {
    return this.tallies.has(tool);
  }

  observe(source: () => Iterable<ProcessSample>): void {
    this.source = source;
  }

  /** Removes the series of a deleted tool once its last process has ended. */
  forget(tool: string): void {
    this.tallies.forget(tool);
  }

  private makeCounters(registers: Registry[]): void {
    const { tallies } = this;
    new Counter({
      name: 'toolkeeper_process_spawns_total',
      help: 'Tool processes started',
      labelNames: ['tool'],
      registers,
      collect() {
        this.reset();
        for (const [tool, { spawned }] of tallies.entries()) this.inc({ tool }, spawned);
      },
    });
    new Counter({
      name: 'toolkeeper_process_terminations_total',
      help: 'Tool processes ended, by reason',
      labelNames: ['tool', 'reason'],
      registers,
      collect() {
        this.reset();
        for (const [tool, { terminated }] of tallies.entries()) {
          for (const [reason, count] of terminated) this.inc({ tool, reason }, count);
        }
      },
    });
  }

  private makeStrayLines(registers: Registry[]): void {
    const { tallies } = this;
    new Counter({
      name: 'toolkeeper_process_stray_lines_total',
      help: 'Lines on the stdout of tool processes that were no messages',
      labelNames: ['tool'],
      registers,
      collect() {
        this.reset();
        for (const [tool, { strayLines }] of tallies.entries()) this.inc({ tool }, strayLines);
      },
    });
  }

  private makeGauges(registers: Registry[]): void {
    const sample = (): Iterable<ProcessSample> => this.source();
    new Gauge({
      name: 'toolkeeper_processes',
      help: 'Tool processes by state',
      labelNames: ['tool', 'state'],
      registers,
      collect() {
        this.reset();
        for (const { tool, starting, idle, busy } of sample()) {
          for (const [state, count] of Object.entries({ starting, idle, busy }))
            this.set({ tool, state }, count);
        }
      },
    });
    new Gauge({
      name: 'toolkeeper_process_memory_bytes',
      help: "Resident memory of a tool's processes",
      labelNames: ['tool'],
      registers,
      collect() {
        this.reset();
        for (const { tool, rssBytes } of sample()) this.set({ tool }, rssBytes);
      },
    });
  }
}
