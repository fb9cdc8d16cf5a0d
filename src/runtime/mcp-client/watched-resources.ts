import { isObject, type JsonObject } from '../../base/common/json.js';
import type { DialectSender } from '../process-pool/pool.types.js';
import { enveloped } from './mcp-eras.js';

const listen = 'subscriptions/listen';
/** Resources of one session: the oldest make room. */
const maxWatched = 1_000;

/**
 * What a session of the modern era is told of: changes of lists, and updates of resources. A subscription cannot be extended:
 * another one that names all takes its place.
 */
export class WatchedResources {
  private lists: object = {};
  private readonly uris = new Set<string>();
  /** The request of the subscription. */
  private id: string | undefined;
  /** Requests of subscriptions that are to take its place, with the resource that each adds. */
  private readonly added = new Map<string, string>();

  constructor(private readonly sender: DialectSender) {}

  /** @param lists of which changes are told */
  begin(lists: object): void {
    this.lists = lists;
    if (Object.keys(lists).length > 0) this.id = this.sender.subscribe(listen, this.params());
  }

  /** @returns the subscription by which a request to watch a resource is sent */
  add(id: string, { uri }: { readonly uri?: unknown }): { method: string; params: object } {
    this.uris.delete(String(uri));
    this.uris.add(String(uri));
    const [oldest = ''] = this.uris;
    if (this.uris.size > maxWatched) this.uris.delete(oldest);
    this.added.set(id, String(uri));
    return { method: listen, params: this.params() };
  }

  /** Answers the request that a subscription was sent for. @returns false if it only is the first one, or the same again */
  acknowledged(params: unknown): boolean {
    const { notifications, _meta } = isObject(params) ? params : {};
    const id = String(isObject(_meta) && _meta['io.modelcontextprotocol/subscriptionId']);
    const uri = this.added.get(id);
    if (uri === undefined) return false;
    this.added.delete(id);
    if (this.id !== undefined) this.sender.notify('notifications/cancelled', { requestId: this.id });
    this.id = id;
    const { resourceSubscriptions } = isObject(notifications) ? notifications : ({} as JsonObject);
    const isTold = Array.isArray(resourceSubscriptions) && resourceSubscriptions.includes(uri);
    if (!isTold) this.uris.delete(uri);
    const why = { code: -32602, message: `The server tells of no updates of ${uri}` };
    this.sender.settle(id, isTold ? { result: {} } : { error: why });
    return true;
  }

  /** The request has ended without that. */
  dropped(id: string): void {
    const uri = this.added.get(id);
    if (uri !== undefined) this.uris.delete(uri);
    this.added.delete(id);
  }

  private params(): object {
    const resourceSubscriptions = [...this.uris];
    const watched = resourceSubscriptions.length > 0 && { resourceSubscriptions };
    return enveloped({ notifications: { ...this.lists, ...watched } });
  }
}
