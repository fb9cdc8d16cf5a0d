import { ApiProperty, PickType } from '@nestjs/swagger';
import {
  AnyText,
  Example,
  Many,
  NestedList,
  NullableText,
  OneOf,
  OptionalNested,
  OptionalOneOf,
  OptionalText,
  Text,
} from '../../rest/dto.js';
import {
  type CallRate,
  type RateSubject,
  rateSubjects,
  type Scope,
  scopes,
} from '../../contract/principal.js';
import { CallRateBody, KeyLimits } from '../keys/keys.dto.js';
import { maxTokenBytes } from './token-checks.js';

/** Sets of scopes that rules give, by name. */
export const roles = {
  viewer: ['metrics:read', 'traces:read'],
  agent: ['tools:call', 'traces:write'],
  operator: ['tools:admin', 'playbooks:write', 'experiments:write', 'metrics:read', 'traces:read'],
  auditor: ['audit:read', 'metrics:read'],
  admin: ['admin'],
} as const satisfies Readonly<Record<string, readonly Scope[]>>;

class TokenRateBody extends CallRateBody {
  @OptionalOneOf(rateSubjects, {
    example: 'client',
    description: 'Count the calls of each person (`subject`, as if absent), or of each agent (`client`)',
  })
  readonly by?: CallRate['by'];
}

/** A rule that gives rights to access tokens with a claim. */
export class AccessRule extends PickType(KeyLimits, ['projects', 'tools']) {
  @OptionalText(512, {
    nullable: true,
    example: 'https://login.example.com/realms/acme',
    description: 'Tokens of this issuer alone. Absent, null: of each issuer in OIDC_ISSUERS',
  })
  readonly issuer?: string | null;
  @Text(256, { example: 'realm_access.roles', description: 'The path of a claim: text or a list of texts' })
  readonly claim!: string;
  @Text(256, { example: 'sre', description: 'A value of the claim, or the beginning of one with a `*`' })
  readonly value!: string;
  @OneOf(Object.keys(roles), { example: 'agent' }) readonly role!: keyof typeof roles;
  @OptionalNested(TokenRateBody, {
    nullable: true,
    description:
      'Calls that each server allows, if this is the first rule that matches. Absent, null: any number',
  })
  readonly rate?: TokenRateBody | null;
  @OptionalOneOf(rateSubjects, {
    nullable: true,
    description:
      'If this is the first rule that matches, calls spend a budget of each person (`subject`), or of each agent (`client`), with the limits of an investigation. Absent, null: that of their investigation',
  })
  readonly budget?: RateSubject | null;
}

/** The rules in the order in which they are evaluated. */
export class AccessRules {
  @NestedList(AccessRule, 1_000) readonly rules!: AccessRule[];
  @OptionalText(64, {
    example: '5d41402abc4b2a76b9719d911017c592',
    description: 'Changes with the rules. Sent back, it refuses to replace rules that changed meanwhile',
  })
  readonly revision?: string;
}

export class TokenBody {
  @AnyText({
    minLength: 1,
    maxLength: 4 * maxTokenBytes,
    example: 'eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.e30.c2ln',
  })
  readonly token!: string;
}

export class TokenCheckView {
  @Example('audience') readonly check!: string;
  @Example(true) readonly passed!: boolean;
  @NullableText(null, 'Why it failed') readonly detail!: string | null;
}

/** A rule, and whether it matches a token. */
export class EvaluatedRuleView {
  @ApiProperty() readonly rule!: AccessRule;
  @Example(true) readonly matched!: boolean;
  @Example('the claim realm_access.roles has the value') readonly why!: string;
}

/** The rights of a token, and the checks and rules that lead to them. */
export class CheckedTokenView {
  @Many(TokenCheckView, 'In order, up to the first that fails') readonly checks!: readonly TokenCheckView[];
  @Many(EvaluatedRuleView, 'Empty if a check fails') readonly rules!: readonly EvaluatedRuleView[];
  @NullableText('https://login.example.com/realms/acme#0a1b', 'Issuer and subject; null if a check fails')
  readonly keyId!: string | null;
  @ApiProperty({ enum: scopes, isArray: true, example: ['tools:call'] }) readonly scopes!: readonly Scope[];
}
