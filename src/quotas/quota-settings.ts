// The quotas of a config, and which of them apply to a principal.
import type { Principal } from "../plugin/principal.ts";
import { type Amounts, type UsageUnit, usageUnits } from "../plugin/usage.ts";

/** A limit; "unlimited" turns off a limit of a less specific section. */
export type QuotaLimit = number | "unlimited";

type UnitLimits = { readonly [Unit in UsageUnit]?: QuotaLimit | undefined };

/** The names are those of the config. A limit that is left out is taken from the next less specific section. */
export interface QuotaFields {
  readonly max_sessions?: QuotaLimit | undefined;
  readonly calls_per_second?: QuotaLimit | undefined;
  readonly burst?: QuotaLimit | undefined;
  readonly max_parallel_calls?: QuotaLimit | undefined;
  readonly bytes_per_second?: QuotaLimit | undefined;
  readonly budget?: { readonly per_day?: UnitLimits | undefined; readonly in_all?: UnitLimits | undefined } | undefined;
}

export interface QuotaSettings {
  readonly default: QuotaFields;
  readonly roles: Readonly<Record<string, QuotaFields>>;
  readonly principals: Readonly<Record<string, QuotaFields>>;
}

/** The limits of one principal; undefined is no limit. */
export interface PrincipalQuota {
  readonly maxSessions: number | undefined;
  readonly callsPerSecond: number | undefined;
  readonly burst: number | undefined;
  readonly maxParallelCalls: number | undefined;
  readonly bytesPerSecond: number | undefined;
  readonly perDay: Amounts;
  readonly inAll: Amounts;
}

type Read = (fields: QuotaFields) => QuotaLimit | undefined;

const units = Object.keys(usageUnits) as UsageUnit[];

/** The most specific section wins, field by field: the principal, then its roles, then the default. */
export function quotaOf(settings: QuotaSettings, { id, roles = [] }: Pick<Principal, "id" | "roles">): PrincipalQuota {
  const own = fieldsOf(settings.principals, id);
  const ofRoles = roles.flatMap((role) => fieldsOf(settings.roles, role) ?? []);
  const pick = (read: Read): number | undefined => {
    const limit = (own && read(own)) ?? highest(ofRoles.map(read)) ?? read(settings.default);
    return limit === "unlimited" ? undefined : limit;
  };
  const amounts = (period: "per_day" | "in_all"): Amounts =>
    Object.fromEntries(units.map((unit) => [unit, pick(({ budget }) => budget?.[period]?.[unit])]));
  return {
    maxSessions: pick((fields) => fields.max_sessions),
    callsPerSecond: pick((fields) => fields.calls_per_second),
    burst: pick((fields) => fields.burst),
    maxParallelCalls: pick((fields) => fields.max_parallel_calls),
    bytesPerSecond: pick((fields) => fields.bytes_per_second),
    perDay: amounts("per_day"),
    inAll: amounts("in_all"),
  };
}

/** Whether any section limits anything. */
export function hasQuotas({ default: all, roles, principals }: QuotaSettings): boolean {
  return [all, ...Object.values(roles), ...Object.values(principals)].some(
    ({ budget = {}, ...limits }) =>
      Object.values(limits).some(isLimit) ||
      Object.values(budget).some((amounts) => Object.values(amounts ?? {}).some(isLimit)),
  );
}

function isLimit(value: unknown): boolean {
  return typeof value === "number";
}

/** Rights of several roles add up, and so the most generous limit of them counts. */
function highest(limits: readonly (QuotaLimit | undefined)[]): QuotaLimit | undefined {
  const set = limits.filter((limit) => limit !== undefined);
  if (set.length === 0) return undefined;
  return set.includes("unlimited") ? "unlimited" : Math.max(...(set as number[]));
}

/** Ids of principals are chosen by others: `constructor` must not find a property of all objects. */
function fieldsOf(sections: Readonly<Record<string, QuotaFields>>, name: string): QuotaFields | undefined {
  return Object.hasOwn(sections, name) ? sections[name] : undefined;
}
