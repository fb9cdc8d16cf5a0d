import type { CanActivate, ExecutionContext, NestInterceptor, Type } from '@nestjs/common';
import { GUARDS_METADATA, INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';
import type { ModuleRef } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { defer, isObservable, lastValueFrom, type Observable } from 'rxjs';
import { isPromiseInterceptor } from '../common/promise-interceptor.js';

/**
 * A method behind the guards and interceptors that its own decorators (@UseGuards, @UseInterceptors) name, each made
 * by Nest with its dependencies. Nest's ExternalContextCreator would run them as well, with two async resources and
 * four deferred observables a call: three times the cost (docs/decisions/005-guarded-handler.md).
 */
export class GuardedHandler<Argument, Result> {
  private constructor(
    private readonly target: object,
    private readonly method: (argument: Argument) => Promise<Result>,
    private readonly guards: readonly CanActivate[],
    private readonly interceptors: readonly NestInterceptor<Result, Result>[],
    private readonly type: string,
  ) {}

  /**
   * @param modules of the module whose providers the guards and interceptors need
   * @param type what `context.getType()` says
   * @throws when the method has no guard: nothing is ever run unguarded by mistake
   */
  static async of<Argument, Result>(
    target: object,
    method: (argument: Argument) => Promise<Result>,
    modules: ModuleRef,
    type: string,
  ): Promise<GuardedHandler<Argument, Result>> {
    const make = async <T>(key: string): Promise<T[]> => {
      const classes = (Reflect.getMetadata(key, method) ?? []) as Type<T>[];
      return Promise.all(classes.map((each) => modules.create(each)));
    };
    const guards = await make<CanActivate>(GUARDS_METADATA);
    const interceptors = await make<NestInterceptor<Result, Result>>(INTERCEPTORS_METADATA);
    if (guards.length === 0) throw new Error(`${method.name} has no guards`);
    return new GuardedHandler(target, method, guards, interceptors, type);
  }

  /** @throws what a guard, an interceptor or the method throws */
  run(argument: Argument): Promise<Result> {
    const context = new ExecutionContextHost([argument], this.target.constructor as Type, this.method);
    context.setType(this.type);
    try {
      return this.pass(0, context, argument);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** The guards from `index` on, and then the method. What is known at once is not awaited. */
  private pass(index: number, context: ExecutionContext, argument: Argument): Promise<Result> {
    const guard = this.guards[index];
    if (!guard) return this.handle(0, context, argument);
    const verdict = guard.canActivate(context);
    if (verdict === true) return this.pass(index + 1, context, argument);
    return settled(verdict).then((passed) => {
      if (passed) return this.pass(index + 1, context, argument);
      throw new Error(`${guard.constructor.name} refused without a reason`);
    });
  }

  private handle(index: number, context: ExecutionContext, argument: Argument): Promise<Result> {
    const interceptor = this.interceptors[index];
    if (!interceptor) return this.method.call(this.target, argument);
    const next = (): Promise<Result> => this.handle(index + 1, context, argument);
    if (isPromiseInterceptor(interceptor)) return interceptor.around(context, next);
    return settled<Result>(interceptor.intercept(context, { handle: () => defer(next) }));
  }
}

/** The last value of an observable, of a promise of one, or what is no observable at all. */
async function settled<T>(answer: T | Promise<T> | Observable<T> | Promise<Observable<T>>): Promise<T> {
  const given = await answer;
  return isObservable(given) ? lastValueFrom(given) : given;
}
