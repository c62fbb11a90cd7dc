// Roles: named lists of patterns that allow and deny.

export interface RoleRules {
  /** Nothing listed is nothing allowed. */
  readonly allow: readonly string[];
  /** Wins over `allow` of every role. */
  readonly deny: readonly string[];
}

export interface Role extends RoleRules {
  readonly name: string;
}

/**
 * Rights as plain data, which can be stored and sent to a worker thread. Every layer must allow a call. Within a layer a
 * deny of any role wins, and otherwise the allow of one role is enough. Without layers, everything is allowed.
 */
export interface RightsData {
  readonly layers: readonly RightsLayer[];
}

export interface RightsLayer {
  readonly roles: readonly Role[];
  /** Restricts only calls about resources of this kind, for example `tool`: all other calls pass this layer. */
  readonly kind?: string;
}

export const builtInRoles: Readonly<Record<string, RoleRules>> = {
  /** Everything, including the sessions of others. */
  operator: { allow: ["*"], deny: [] },
  /** Every capability, but not the sessions of others. */
  agent: { allow: ["*"], deny: ["observe/*", "operate/*"] },
  /** Reads, and changes nothing. */
  observer: { allow: ["*:read"], deny: [] },
};

export function findRole(roles: Readonly<Record<string, RoleRules>>, name: string): Role | undefined {
  const source = [roles, builtInRoles].find((known) => Object.hasOwn(known, name));
  const rules = source?.[name];
  return rules === undefined ? undefined : { name, allow: [...rules.allow], deny: [...rules.deny] };
}
