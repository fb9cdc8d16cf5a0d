import { serverPath } from './server-url.js';

/** A request of any method, in a form that can be copied. */
export interface AnyAct {
  readonly method: string;
  /** Below the server's address. */
  readonly path: string;
  /** JSON text; empty for none. */
  readonly body: string;
  /** Its project; absent: the first one of the key, or `default`. */
  readonly project?: string | undefined;
}

/** The request of an action, which is sent and can be copied. */
export interface Act extends AnyAct {
  readonly method: 'POST' | 'PATCH';
}

/** A project as value of `x-project-id`. Headers are Latin-1, so names beyond ASCII are encoded by RFC 8187. */
export const projectInHeader = (project: string): string =>
  /^(?!UTF-8'')[!-~]([ -~]*[!-~])?$/.test(project) ? project : `UTF-8''${encodeURIComponent(project)}`;

/** A call of a tool. A test call spends no budget and does not count for grade and circuit. */
export function callOf(tool: string, inputText: string, isTest: boolean): Act {
  const name = encodeURIComponent(tool);
  return {
    method: 'POST',
    path: isTest ? `/api/v1/custom-tools/${name}/test` : `/api/v1/tools/${name}/execute`,
    body: `{"input":${inputText}}`,
  };
}

/** Sends a request, by default with the browser's fetch. */
export interface Sending {
  readonly fetch?: typeof fetch;
}

/** A request by the generated client. */
export type Send = (options?: Sending) => Promise<unknown>;

/** The action of a request by the generated client, which is built and not sent. */
export const actOf = (send: Send): Promise<AnyAct> =>
  new Promise((resolve, reject) => {
    const note: typeof fetch = async (input, init) => {
      const request = new Request(input, init);
      const { pathname, search } = new URL(request.url);
      resolve({
        method: request.method,
        path: pathname.replace(serverPath, '') + search,
        body: await request.text(),
      });
      throw new Error('It is noted, and not sent.');
    };
    send({ fetch: note }).catch(reject);
  });
