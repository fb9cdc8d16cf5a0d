import { applyDecorators, Body, Get, HttpCode, Param, Post, Query, UseInterceptors } from '@nestjs/common';
import { CurrentPrincipal } from '../../web/auth/principal.decorator.js';
import { ApiRoutes, Scopes } from '../../web/auth/scopes.decorator.js';
import { Answers } from '../../web/rest/answers.decorator.js';
import type { Principal } from '../../web/contract/principal.js';
import { ToolParams } from '../../web/rest/dto.js';
import { UpToDateInterceptor } from '../../records/executions/execution-recorder.js';
import * as dto from './circuit.dto.js';
import { CircuitsService } from './circuits.service.js';

/** Describes a route that overrides a circuit by hand. */
const Overrides = (change: string, summary: string, description: string): MethodDecorator =>
  applyDecorators(
    Post(`:tool/circuit/${change}`),
    Scopes('tools:admin'),
    HttpCode(200),
    Answers(dto.CircuitView, summary, description, 'not_found'),
  );

/** Shows the circuits of tools and lets operators override them. */
@ApiRoutes('api/v1/tool-health', 'tool-health', 'metrics:read')
@UseInterceptors(UpToDateInterceptor)
export class CircuitsController {
  constructor(private readonly circuits: CircuitsService) {}

  @Get('circuits')
  @Answers(
    dto.CircuitListView,
    'Circuits that are not closed',
    'Of tools that refuse calls, or let a few try. Each is shown without its history.',
  )
  listOpenCircuits(): dto.CircuitListView {
    return this.circuits.notClosed();
  }

  @Get(':tool/circuit')
  @Answers(
    dto.CircuitView,
    "State, reason and history of a tool's circuit",
    'With what the window holds now, when probing begins, and the newest transitions.',
    'not_found',
  )
  getCircuit(@Param() { tool }: ToolParams, @Query() { limit }: dto.CircuitQuery): Promise<dto.CircuitView> {
    return this.circuits.circuitOf(tool, limit);
  }

  @Get(':tool/circuit/advice')
  @Answers(
    dto.CircuitAdviceView,
    'Would a count of errors alone advise to break the circuit?',
    'Advice only, and of unknown tools as well: the circuit itself also looks at the failure rate.',
  )
  getCircuitAdvice(
    @Param() { tool }: ToolParams,
    @Query() query: dto.CircuitAdviceQuery,
  ): Promise<dto.CircuitAdviceView> {
    return this.circuits.advice(tool, query);
  }

  @Overrides(
    'open',
    'Refuse all calls of a tool until its circuit is closed or reset',
    'By hand, with who and why; a restart keeps it open.',
  )
  openCircuit(
    @Param() { tool }: ToolParams,
    @Body() body: dto.OverrideCircuitBody,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<dto.CircuitView> {
    return this.circuits.override(tool, 'openByHand', body, userId);
  }

  @Overrides(
    'close',
    'Let calls of a tool pass again',
    'The faults of the window are forgotten; an opening soon after counts as a repeated one.',
  )
  closeCircuit(
    @Param() { tool }: ToolParams,
    @Body() body: dto.OverrideCircuitBody,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<dto.CircuitView> {
    return this.circuits.override(tool, 'closeByHand', body, userId);
  }

  @Overrides(
    'reset',
    "Close a tool's circuit and forget its earlier openings",
    'As new: the next opening is the shortest again.',
  )
  resetCircuit(
    @Param() { tool }: ToolParams,
    @Body() body: dto.OverrideCircuitBody,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<dto.CircuitView> {
    return this.circuits.override(tool, 'reset', body, userId);
  }
}
