import { isObject, type JsonObject } from '../../base/common/json.js';
import type { DialectSender } from '../process-pool/pool.types.js';
import { enveloped } from './mcp-eras.js';

const listenMethod = 'subscriptions/listen';
const invalidParams = -32602;
/** Max watched resources of a session. Beyond it the oldest are dropped. */
const maxWatched = 1_000;

/**
 * The subscription of a session of the modern era to changes of lists and updates of resources. It cannot be extended: a
 * new subscription with all resources replaces it.
 */
export class WatchedResources {
  /** The changes of lists that are subscribed to: `{toolsListChanged: true}`. */
  private listChanges: object = {};
  /** Watched resources, oldest first. */
  private readonly uris = new Set<string>();
  /** Id of the request that opened the subscription. */
  private subscriptionId: string | undefined;
  /** The resource that each subscription adds which is not acknowledged yet, by the id of its request. */
  private readonly pendingUris = new Map<string, string>();

  constructor(private readonly sender: DialectSender) {}

  /** Subscribes to changes of lists. @param listChanges empty for no subscription yet */
  begin(listChanges: object): void {
    this.listChanges = listChanges;
    if (Object.keys(listChanges).length > 0)
      this.subscriptionId = this.sender.subscribe(listenMethod, this.params());
  }

  /** Adds a resource. @param id of the request @returns the subscription request that replaces it */
  add(id: string, { uri }: { readonly uri?: unknown }): { method: string; params: object } {
    this.uris.delete(String(uri));
    this.uris.add(String(uri));
    const [oldest = ''] = this.uris;
    if (this.uris.size > maxWatched) this.uris.delete(oldest);
    this.pendingUris.set(id, String(uri));
    return { method: listenMethod, params: this.params() };
  }

  /**
   * Handles the server's acknowledgement of a subscription: answers the request that caused it.
   * @returns false if no request did, as for the first subscription
   */
  acknowledge(params: unknown): boolean {
    const { notifications, _meta } = isObject(params) ? params : {};
    const id = String(isObject(_meta) && _meta['io.modelcontextprotocol/subscriptionId']);
    const uri = this.pendingUris.get(id);
    if (uri === undefined) return false;
    this.pendingUris.delete(id);
    if (this.subscriptionId !== undefined)
      this.sender.notify('notifications/cancelled', { requestId: this.subscriptionId });
    this.subscriptionId = id;
    const { resourceSubscriptions } = isObject(notifications) ? notifications : ({} as JsonObject);
    const isWatched = Array.isArray(resourceSubscriptions) && resourceSubscriptions.includes(uri);
    if (!isWatched) this.uris.delete(uri);
    const error = { code: invalidParams, message: `The server tells of no updates of ${uri}` };
    this.sender.settle(id, isWatched ? { result: {} } : { error });
    return true;
  }

  /** Forgets a request that ended without a subscription. */
  forget(id: string): void {
    const uri = this.pendingUris.get(id);
    if (uri !== undefined) this.uris.delete(uri);
    this.pendingUris.delete(id);
  }

  /** Parameters of a subscription to everything. */
  private params(): object {
    const resourceSubscriptions = [...this.uris];
    const watched = resourceSubscriptions.length > 0 && { resourceSubscriptions };
    return enveloped({ notifications: { ...this.listChanges, ...watched } });
  }
}
