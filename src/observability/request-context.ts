import { Injectable } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';

/** Which HTTP request the running code belongs to: every log line it writes carries the id. */
@Injectable()
export class RequestContext {
  private readonly storage = new AsyncLocalStorage<string>();

  run<T>(requestId: string, work: () => T): T {
    return this.storage.run(requestId, work);
  }

  requestId(): string | undefined {
    return this.storage.getStore();
  }
}
