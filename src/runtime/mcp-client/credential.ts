import type { Answer } from './remote-answer.js';

/** Tokens for the requests to one MCP server, as one caller or as this server itself. */
export interface Credential {
  /** The token for the next request. @throws SignInNeeded; another error if no token could be obtained */
  token(): Promise<string> | string;
  /**
   * Decides whether a request is sent again with another token.
   * @param answer the answer to a request with this token
   * @param tries number of earlier tries of the request
   * @returns the token to try next; undefined: the answer is final
   * @throws SignInNeeded
   */
  next(token: string, answer: Answer, tries: number): Promise<string | undefined>;
}

/** The token is missing or invalid, and only a sign-in of the caller can provide another one. */
export class SignInNeeded extends Error {
  override readonly name = 'SignInNeeded';

  constructor(
    message: string,
    /** Scope that the server asks for; absent: the one before. */
    readonly scope?: string,
  ) {
    super(message);
  }
}

/** Code of the JSON-RPC error that answers a request which needs a sign-in. Servers do not send this code. */
export const signInNeededCode = -31_401;

/** Max tokens that are remembered to redact them. */
const maxRecent = 3;

/** Sends the requests of one session with a server, with tokens if there is a credential. */
export class TokenRequests {
  /** The latest tokens that were sent, newest first. The server may repeat them in its texts. */
  private recentTokens: readonly string[] = [];

  /** @param credential absent if the registered headers suffice */
  constructor(private readonly credential?: Credential) {}

  /** Sends a request, again with other tokens while the credential provides them. @param request sends it with these headers */
  async send(request: (headers: Record<string, string>) => Promise<Answer>): Promise<Answer> {
    const { credential } = this;
    if (!credential) return request({});
    let token = await credential.token();
    for (let tries = 0; ; tries++) {
      if (!this.recentTokens.includes(token))
        this.recentTokens = [token, ...this.recentTokens].slice(0, maxRecent);
      const answer = await request({ authorization: `Bearer ${token}` });
      const next = await credential.next(token, answer, tries);
      if (next === undefined) return answer;
      answer.body.destroy();
      token = next;
    }
  }

  /** Redacts tokens in a text of the server. */
  clean(text: string): string {
    return this.recentTokens.reduce((redacted, token) => redacted.replaceAll(token, '[access token]'), text);
  }
}

/** The JSON-RPC answer to a request that was not sent, because it needs a sign-in. */
export const signInNeededAnswer = (id: string, { message, scope }: SignInNeeded): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code: signInNeededCode, message, data: { scope } } });
