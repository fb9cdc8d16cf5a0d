import { Injectable } from '@nestjs/common';
import type { Handshake } from '../../process-pool/pool.types.js';
import type { EffectiveSandbox } from '../../sandbox/sandbox.types.js';
import type { Tool } from '../../tool-contract/tool.js';
import type { ToolOutcome } from '../../tool-contract/tool-outcome.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolsRepository } from '../entity/custom-tools.repository.js';
import { differences, type Listen } from '../launch/tool-inspector.js';
import { PoolOutput } from '../logs/pool-output.js';
import type { LogBook } from '../logs/tool-logs.js';
import type { CustomToolWrapper } from '../running/custom-tool-wrapper.js';
import { RunningTools } from '../running/running-tools.js';
import { offeredAs } from './custom-tool-manager.js';
import type { CustomToolCreate, CustomToolUpdate } from './custom-tools.shapes.js';
import { type AnsweredTool, ToolDrafts } from './tool-drafts.js';

/** A call that belongs to a trial. */
export interface TrialCall {
  /** Of an MCP server: which of its tools, by its full name. */
  readonly tool: string | undefined;
  run(tool: Tool): Promise<ToolOutcome>;
}

/** The tool that a registration, or a change, would make, and how it does. */
export interface Trial {
  readonly tool: CustomTool;
  readonly handshake: Handshake;
  readonly differences: readonly string[];
  readonly effectiveSandbox: EffectiveSandbox;
  /** Null where no call was asked for. */
  readonly outcome: ToolOutcome | null;
}

/** Registrations and changes without consequences: each rule, process and cap as theirs, but nothing is stored. */
@Injectable()
export class ToolTrials {
  constructor(
    private readonly drafts: ToolDrafts,
    private readonly repository: CustomToolsRepository,
    private readonly running: RunningTools,
  ) {}

  /**
   * @param book gets what its processes write
   * @param bundle the files that it brought along
   * @throws Problem what the registration would be refused with; Refusal where the call was not run
   */
  async register(create: CustomToolCreate, book: LogBook, call?: TrialCall, bundle?: string): Promise<Trial> {
    return this.run(await this.drafts.answered(create, { listen: into(book), bundle }), book, call);
  }

  /** The same of a change. @throws Problem `not_found` */
  async change(
    name: string,
    changes: CustomToolUpdate,
    book: LogBook,
    call?: TrialCall,
    bundle?: string,
  ): Promise<Trial> {
    const tool = await this.repository.get(name);
    this.drafts.apply(tool, changes, bundle);
    const inspected = await this.drafts.answeredAgain(tool, into(book));
    return this.run({ inspected, prepared: await this.drafts.prepare(tool, inspected) }, book, call);
  }

  private async run({ prepared, inspected }: AnsweredTool, book: LogBook, call?: TrialCall): Promise<Trial> {
    const { tool } = prepared;
    const { handshake } = inspected;
    const wrapper = await this.running.build(prepared, tool.revision, { book });
    try {
      const outcome = call ? await call.run(offeredAs(call.tool ?? tool.name, wrapper)) : null;
      const effectiveSandbox = this.running.effective(tool, wrapper);
      return { tool, handshake, differences: differences(tool, handshake), effectiveSandbox, outcome };
    } finally {
      await this.end(wrapper, call?.tool);
    }
  }

  /** Nothing is left of it: of a tool that there is not, no figures either. */
  private async end(wrapper: CustomToolWrapper, called?: string): Promise<void> {
    const { name } = wrapper.tool;
    await this.running.retire(wrapper);
    if (this.running.get(name) || (await this.repository.find(name))) return;
    for (const each of new Set([name, called ?? name])) this.running.deletions.emit(each);
  }
}

const into =
  (book: LogBook): Listen =>
  (redactor) => {
    const output = new PoolOutput(book, redactor);
    return (news) => output.on(news);
  };
