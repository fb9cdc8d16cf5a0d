import { Body, Get, HttpCode, Param, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { CurrentPrincipal } from '../../web/auth/principal.decorator.js';
import { ApiRoutes, Scopes } from '../../web/auth/scopes.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import type { Principal } from '../../web/contract/principal.js';
import { ToolParams } from '../../web/rest/dto.js';
import { UpToDateInterceptor } from '../../records/executions/execution-recorder.js';
import * as dto from './circuit.dto.js';
import { CircuitsService } from './circuits.service.js';

/** Shows the circuits of tools and lets operators override them. */
@ApiRoutes('api/v1/tool-health', 'tool-health', 'metrics:read')
@UseInterceptors(UpToDateInterceptor)
export class CircuitsController {
  constructor(private readonly circuits: CircuitsService) {}

  @Get('circuits')
  @ApiOperation({
    summary: 'Circuits that are not closed',
    description: 'Of tools that refuse calls, or let a few try. Each is shown without its history.',
  })
  @ApiOkResponse({ type: dto.CircuitListView })
  listOpenCircuits(): dto.CircuitListView {
    return this.circuits.notClosed();
  }

  @Get(':tool/circuit')
  @ApiOperation({
    summary: "State, reason and history of a tool's circuit",
    description: 'With what the window holds now, when probing begins, and the newest transitions.',
  })
  @ApiOkResponse({ type: dto.CircuitView })
  @ApiProblems('not_found')
  getCircuit(@Param() { tool }: ToolParams, @Query() { limit }: dto.CircuitQuery): Promise<dto.CircuitView> {
    return this.circuits.circuitOf(tool, limit);
  }

  @Get(':tool/circuit/advice')
  @ApiOperation({
    summary: 'Would a count of errors alone advise to break the circuit?',
    description:
      'Advice only, and of unknown tools as well: the circuit itself also looks at the failure rate.',
  })
  @ApiOkResponse({ type: dto.CircuitAdviceView })
  getCircuitAdvice(
    @Param() { tool }: ToolParams,
    @Query() query: dto.CircuitAdviceQuery,
  ): Promise<dto.CircuitAdviceView> {
    return this.circuits.advice(tool, query);
  }

  @Post(':tool/circuit/open')
  @Scopes('tools:admin')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Refuse all calls of a tool until its circuit is closed or reset',
    description: 'By hand, with who and why; a restart keeps it open.',
  })
  @ApiOkResponse({ type: dto.CircuitView })
  @ApiProblems('not_found')
  openCircuit(
    @Param() { tool }: ToolParams,
    @Body() body: dto.OverrideCircuitBody,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<dto.CircuitView> {
    return this.circuits.override(tool, 'openByHand', body, userId);
  }

  @Post(':tool/circuit/close')
  @Scopes('tools:admin')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Let calls of a tool pass again',
    description: 'The faults of the window are forgotten; an opening soon after counts as a repeated one.',
  })
  @ApiOkResponse({ type: dto.CircuitView })
  @ApiProblems('not_found')
  closeCircuit(
    @Param() { tool }: ToolParams,
    @Body() body: dto.OverrideCircuitBody,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<dto.CircuitView> {
    return this.circuits.override(tool, 'closeByHand', body, userId);
  }

  @Post(':tool/circuit/reset')
  @Scopes('tools:admin')
  @HttpCode(200)
  @ApiOperation({
    summary: "Close a tool's circuit and forget its earlier openings",
    description: 'As new: the next opening is the shortest again.',
  })
  @ApiOkResponse({ type: dto.CircuitView })
  @ApiProblems('not_found')
  resetCircuit(
    @Param() { tool }: ToolParams,
    @Body() body: dto.OverrideCircuitBody,
    @CurrentPrincipal() { userId }: Principal,
  ): Promise<dto.CircuitView> {
    return this.circuits.override(tool, 'reset', body, userId);
  }
}
