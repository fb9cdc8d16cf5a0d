import {
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  Module,
  type NestInterceptor,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { map, type Observable, of, tap } from 'rxjs';
import { GuardedHandler } from './guarded-handler.js';

@Injectable()
class Journal {
  readonly lines: string[] = [];
}

interface Call {
  readonly verdict?: unknown;
  readonly fails?: boolean;
}

@Injectable()
class First implements CanActivate {
  constructor(private readonly journal: Journal) {}

  canActivate(context: ExecutionContext): boolean {
    this.journal.lines.push(`first ${context.getType()} ${context.getHandler().name}`);
    return true;
  }
}

@Injectable()
class Second implements CanActivate {
  constructor(private readonly journal: Journal) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> | Observable<boolean> {
    this.journal.lines.push('second');
    const { verdict = true } = context.getArgByIndex<Call>(0);
    if (verdict instanceof Error) throw verdict;
    return verdict as boolean;
  }
}

@Injectable()
class Outer implements NestInterceptor {
  constructor(private readonly journal: Journal) {}

  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    this.journal.lines.push('outer');
    return next.handle().pipe(map((result) => `outer(${String(result)})`));
  }
}

@Injectable()
class Inner implements NestInterceptor {
  constructor(private readonly journal: Journal) {}

  async intercept(_context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const say = (line: string) => () => void this.journal.lines.push(line);
    return next.handle().pipe(tap({ next: say('ended'), error: say('failed') }));
  }
}

@Injectable()
class Target {
  constructor(private readonly journal: Journal) {}

  @UseGuards(First, Second)
  @UseInterceptors(Outer, Inner)
  async execute({ fails = false }: Call): Promise<string> {
    this.journal.lines.push('ran');
    if (fails) throw new Error('broken');
    return 'result';
  }

  async open(): Promise<string> {
    return 'unguarded';
  }
}

@Module({ providers: [Journal, Target] })
class Room {
  constructor(readonly modules: ModuleRef) {}
}

async function setUp() {
  const app = await Test.createTestingModule({ imports: [Room] }).compile();
  const { modules } = app.get(Room);
  const target = app.get(Target);
  const execute = Reflect.get(Target.prototype, 'execute');
  const handler = await GuardedHandler.of(target, execute, modules, 'tool');
  return { handler, target, modules, lines: app.get(Journal).lines };
}

describe('GuardedHandler', () => {
  it('runs guards, then interceptors, then the method, each in the order of the decorators', async () => {
    const { handler, lines } = await setUp();
    await expect(handler.run({})).resolves.toBe('outer(result)');
    expect(lines).toEqual(['first tool execute', 'second', 'outer', 'ran', 'ended']);
  });

  it.each([
    ['false', false],
    ['a promise of false', Promise.resolve(false)],
    ['an observable of false', of(false)],
    ['undefined from a guard that forgot to answer', null],
  ])('does not run the method when a guard says %s', async (_what, verdict) => {
    const { handler, lines } = await setUp();
    await expect(handler.run({ verdict })).rejects.toThrow('Second refused without a reason');
    expect(lines).not.toContain('ran');
  });

  it.each([
    ['a promise of true', Promise.resolve(true)],
    ['an observable of true', of(true)],
  ])('goes on when a guard says %s', async (_what, verdict) => {
    const { handler } = await setUp();
    await expect(handler.run({ verdict })).resolves.toBe('outer(result)');
  });

  it('throws what a guard throws', async () => {
    const { handler, lines } = await setUp();
    const verdict = new Error('spent');
    await expect(handler.run({ verdict })).rejects.toBe(verdict);
    expect(lines).not.toContain('outer');
  });

  it('lets interceptors see a failure', async () => {
    const { handler, lines } = await setUp();
    await expect(handler.run({ fails: true })).rejects.toThrow('broken');
    expect(lines.at(-1)).toBe('failed');
  });

  it('is not made for a method without guards', async () => {
    const { target, modules } = await setUp();
    const open = Reflect.get(Target.prototype, 'open');
    await expect(GuardedHandler.of(target, open, modules, 'tool')).rejects.toThrow('open has no guards');
  });
});
