import { Example, Many, NullableMoment, NullableText } from '../../../web/rest/dto.js';

/** An MCP server, and the caller's account there. */
export class AccountView {
  @Example('github', 'The MCP server') readonly server!: string;
  @NullableText('active', '`active`, or `needs_sign_in` after the server ended it; null: there is none')
  readonly status!: string | null;
  @NullableText('repo', 'Scopes that were granted, if known') readonly scope!: string | null;
  @NullableMoment('2026-01-23T10:30:00.000Z', 'Time of the sign-in') readonly createdAt!: string | null;
  @NullableText('https://toolkeeper.example.com/accounts/sign-in/…', 'To sign in, once and within 10 minutes')
  readonly signInUrl!: string | null;
}

export class AccountsView {
  @Many(AccountView, 'MCP servers with `credentials: "user"`')
  readonly data!: AccountView[];
}
