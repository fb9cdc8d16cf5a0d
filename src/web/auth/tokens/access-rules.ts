import { covers } from '../../../base/common/name-patterns.js';
import { isObject } from '../../../base/common/json.js';
import type { Principal, Scope } from '../../contract/principal.js';
import { allScopesOf } from '../known-keys.js';
import { type AccessRule, type EvaluatedRuleView, roles } from './access-rules.dto.js';
import { type Claims, scopesIn } from './token-checks.js';

/** The claim at a path such as `realm_access.roles`. Names of claims may contain dots themselves. */
function claimAt(claims: unknown, path: string): unknown {
  if (!isObject(claims)) return undefined;
  if (Object.hasOwn(claims, path)) return claims[path];
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const name = path.slice(0, dot);
    const found = Object.hasOwn(claims, name) ? claimAt(claims[name], path.slice(dot + 1)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Each rule's match against a token's claims, with the reason. */
export function evaluateRules(
  rules: readonly AccessRule[],
  issuer: string,
  claims: Claims,
): EvaluatedRuleView[] {
  return rules.map((rule) => {
    const result = (matched: boolean, why: string): EvaluatedRuleView => ({ rule, matched, why });
    if (rule.issuer && rule.issuer !== issuer) return result(false, `it is for tokens of ${rule.issuer}`);
    const found = claimAt(claims, rule.claim);
    const values = [found].flat().filter((value) => ['string', 'number', 'boolean'].includes(typeof value));
    if (values.some((value) => covers(rule.value, String(value))))
      return result(true, `the claim ${rule.claim} has the value`);
    // Entra omits the groups of users with more than 200.
    const omitsClaims = claimAt(claims, '_claim_names') !== undefined;
    const advice = '; _claim_names says that claims were left out: send app roles in place of groups';
    const hint = omitsClaims ? advice : '';
    if (found === undefined) return result(false, `the token has no claim ${rule.claim}${hint}`);
    return result(false, `the claim ${rule.claim} has none of the rule's values (${values.length} others)`);
  });
}

export type Rights = Pick<Principal, 'scopes' | 'projects' | 'tools' | 'rate' | 'budget'>;

/**
 * The rights of matching rules. The first one sets limits, rate and budget. Rules with the same role and tools add their
 * projects. Other rules add their role only if their limits include those of the first, so that no role exceeds its limits.
 * @returns undefined if no rule matches
 */
export function rightsOf(results: readonly EvaluatedRuleView[]): Rights | undefined {
  const matching = results.filter(({ matched }) => matched).map(({ rule }) => rule);
  const [first] = matching;
  if (!first) return undefined;
  const tools = first.tools ?? undefined;
  const isAlike = (rule: AccessRule): boolean =>
    rule.role === first.role && includesAll(rule.tools, tools) && includesAll(tools, rule.tools ?? undefined);
  const projects = unionOf(matching.filter(isAlike).map((rule) => rule.projects));
  const adding = matching.filter(
    (rule) => includesAll(rule.tools, tools) && includesAll(rule.projects, projects),
  );
  return {
    scopes: allScopesOf([first, ...adding].flatMap(({ role }): readonly Scope[] => roles[role])),
    ...(projects && { projects }),
    ...(tools && { tools }),
    ...(first.rate && { rate: first.rate }),
    ...(first.budget && { budget: first.budget }),
  };
}

/** A list of projects or tools in a rule. Absent or null: all. */
type Limit = readonly string[] | null | undefined;

/** Whether a limit allows all of the others; undefined others: all. */
const includesAll = (limit: Limit, others: readonly string[] | undefined): boolean =>
  !limit || (others?.every((other) => limit.includes(other)) ?? false);

/** The names that at least one limit allows; undefined: all. */
const unionOf = (limits: readonly Limit[]): readonly string[] | undefined =>
  limits.every((limit) => limit) ? [...new Set(limits.flatMap((limit) => limit ?? []))] : undefined;

/** Scopes that both the rules and the token allow. The `scope` of a token counts only if it names scopes of this server. */
export function effectiveScopes(granted: ReadonlySet<Scope>, claims: Claims): ReadonlySet<Scope> {
  const tokenScopes = scopesIn(claims);
  const allowed = allScopesOf(tokenScopes);
  return tokenScopes.length === 0 ? granted : new Set([...granted].filter((scope) => allowed.has(scope)));
}
