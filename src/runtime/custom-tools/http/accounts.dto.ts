import { Example, Many, NullableMoment, NullableText } from '../../../web/rest/dto.js';

export class AccountView {
  @Example('github', 'The MCP server') readonly server!: string;
  @NullableText('active', '`active`, or `needs_sign_in`: it was ended at the other side; null: there is none')
  readonly status!: string | null;
  @NullableText('repo', 'Scopes that were granted, as far as they were told') readonly scope!: string | null;
  @NullableMoment('2026-01-23T10:30:00.000Z', 'When its owner signed in') readonly createdAt!: string | null;
  @NullableText('https://toolkeeper.example.com/accounts/sign-in/…', 'To sign in, once and within 10 minutes')
  readonly signInUrl!: string | null;
}

export class AccountsView {
  @Many(AccountView, 'Each MCP server that is called with an account of each caller')
  readonly data!: AccountView[];
}
