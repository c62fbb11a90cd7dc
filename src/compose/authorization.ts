// From a principal to its rights, by the roles of the config and the caveats of its token.
import { isRefusal, type ProvenIdentity, type Refusal } from "../credentials/credential.ts";
import type { Authorize } from "../host/authentication.ts";
import type { Logger } from "../plugin/logger.ts";
import type { Principal } from "../plugin/principal.ts";
import { A2EError } from "../protocol/errors.ts";
import { compileRights, everything, type Rights } from "../rights/rights.ts";
import { findRole, type RoleRules } from "../rights/roles.ts";
import { rightsOfCaveats, rightsOfScopes } from "./caveat-rights.ts";

export interface AuthorizationOptions {
  roles: Readonly<Record<string, RoleRules>>;
  /** The present state of a principal whose credential this host stores; undefined for any other. */
  identityOf: (principalId: string) => ProvenIdentity | Refusal | undefined;
  log: Logger;
}

/** What a credential has proven is stored with the principal, so that a recovered session has the same rights. */
type ProvenPrincipal = Principal & Pick<ProvenIdentity, "scopes" | "caveats">;

/** A JWT may name any roles, so there is no limit to the combinations. */
const maxKept = 1000;

export function createAuthorization({ roles, identityOf, log }: AuthorizationOptions): Authorize {
  const byRoles = new Map<string, Rights>();
  const reported = new Set<string>();

  const compile = (names: readonly string[]): Rights => {
    const known = names.filter((name) => findRole(roles, name) !== undefined);
    for (const role of names.filter((name) => !known.includes(name) && !reported.has(name))) {
      if (reported.size >= maxKept) reported.clear();
      reported.add(role);
      log.warn("a principal has a role that this host does not have; it grants nothing", { role: role.slice(0, 100) });
    }
    const isOperator = known.length > 0 && known.every((name) => name === "operator");
    return isOperator ? everything : compileRights(roles, known);
  };
  const rightsOf = (names: readonly string[]): Rights => {
    const key = JSON.stringify(names);
    const kept = byRoles.get(key);
    if (kept !== undefined) return kept;
    const compiled = compile(names);
    if (byRoles.size >= maxKept) byRoles.clear();
    byRoles.set(key, compiled);
    return compiled;
  };

  return (principal, session) => {
    const { id, isAuthenticated, roles: names, scopes, caveats = [] }: ProvenPrincipal = principal;
    const present = identityOf(id);
    const refusal = present !== undefined && isRefusal(present) ? present.refused : undefined;
    if (refusal === "server_error") throw new A2EError("server_error", "the credential cannot be checked now");
    // A recovered session may be older than the revocation, or than the settings that demand a credential.
    if (refusal === "revoked" || !isAuthenticated) {
      setImmediate(() => void session.close("revoked"));
      throw new A2EError("unauthorized", "the credential is not accepted any more");
    }
    const rights = names === undefined ? everything : rightsOf(names);
    const scoped = scopes === undefined ? rights : rights.and(rightsOfScopes(scopes));
    return caveats.length === 0 ? scoped : scoped.and(rightsOfCaveats(caveats));
  };
}
