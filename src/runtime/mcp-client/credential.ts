import type { Answer } from './remote-answer.js';

/** Tokens for the requests to one MCP server, as one caller or as this server itself. */
export interface Credential {
  /** @throws SignInNeeded; another error if none could be got */
  token(): Promise<string> | string;
  /**
   * @param refused the answer to a request with this token
   * @param tries with tokens before it
   * @returns the token to try next; undefined: the answer stands
   * @throws SignInNeeded
   */
  next(token: string, refused: Answer, tries: number): Promise<string | undefined>;
}

/** Only the person who calls can get another token. */
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

/** Error of JSON-RPC by which a request is answered that needs a sign-in; no server sends this code. */
export const signInNeededCode = -31_401;

const maxRecent = 3;

/** The requests of one session with a server, with tokens if it wants some. */
export class TokenRequests {
  /** Tokens that the server has been shown, and may repeat. */
  private recent: readonly string[] = [];

  /** @param credential absent: its headers are all */
  constructor(private readonly credential?: Credential) {}

  async send(request: (headers: Record<string, string>) => Promise<Answer>): Promise<Answer> {
    const { credential } = this;
    if (!credential) return request({});
    let token = await credential.token();
    for (let tries = 0; ; tries++) {
      if (!this.recent.includes(token)) this.recent = [token, ...this.recent].slice(0, maxRecent);
      const answer = await request({ authorization: `Bearer ${token}` });
      const next = await credential.next(token, answer, tries);
      if (next === undefined) return answer;
      answer.body.destroy();
      token = next;
    }
  }

  /** A text of the server without tokens. */
  clean(text: string): string {
    return this.recent.reduce((clean, token) => clean.replaceAll(token, '[access token]'), text);
  }
}

/** The answer to a request that was not sent. */
export const signInNeeded = (id: string, { message, scope }: SignInNeeded): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code: signInNeededCode, message, data: { scope } } });
