import { serverPath } from './server-url.js';

/** The request of an act, by any method: it can be copied. */
export interface AnyAct {
  readonly method: string;
  /** Below the server's address. */
  readonly path: string;
  /** JSON text; empty for none. */
  readonly body: string;
  /** The project that it is for; absent: the first of the key, or `default`. */
  readonly project?: string | undefined;
}

/** The request of an act: the same one runs and can be copied. */
export interface Act extends AnyAct {
  readonly method: 'POST' | 'PATCH';
}

/** A project in the header `x-project-id`. Headers are Latin-1: other names than of ASCII are written as RFC 8187 has it. */
export const projectInHeader = (project: string): string =>
  /^(?!UTF-8'')[!-~]([ -~]*[!-~])?$/.test(project) ? project : `UTF-8''${encodeURIComponent(project)}`;

/** A call of a tool; as a test call it spends no budget and counts neither for grade nor circuit. */
export function callOf(tool: string, inputText: string, isTest: boolean): Act {
  const name = encodeURIComponent(tool);
  return {
    method: 'POST',
    path: isTest ? `/api/v1/custom-tools/${name}/test` : `/api/v1/tools/${name}/execute`,
    body: `{"input":${inputText}}`,
  };
}

/** Sends a request: the browser's fetch, unless another is given. */
export interface Sending {
  readonly fetch?: typeof fetch;
}

/** A request by the generated client. */
export type Send = (options?: Sending) => Promise<unknown>;

/** The act that a request by the generated client would be: it is made, and not sent. */
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
