// Access to the semantic tier by namespace. The other tiers belong to one session or one agent.

export interface NamespaceRule {
  /** `read_only`: only owners write. `private`: only owners read and write. */
  readonly access: "shared" | "read_only" | "private";
  /** Ids of principals. */
  readonly owners: readonly string[];
}

export interface NamespacePolicy {
  canRead(namespace: string, agent: string): boolean;
  canWrite(namespace: string, agent: string): boolean;
}

/** The rule `*` applies to namespaces without a rule; without it they are shared. */
export function createNamespacePolicy(rules: Readonly<Record<string, NamespaceRule>>): NamespacePolicy {
  // A map and not an object: a namespace may be called "constructor".
  const byName = new Map(Object.entries(rules));
  const ruleOf = (namespace: string) => byName.get(namespace) ?? byName.get("*");
  const isOwner = (rule: NamespaceRule, agent: string) => agent !== "" && rule.owners.includes(agent);
  return {
    canRead(namespace, agent) {
      const rule = ruleOf(namespace);
      return rule?.access !== "private" || isOwner(rule, agent);
    },
    canWrite(namespace, agent) {
      const rule = ruleOf(namespace);
      return rule === undefined || rule.access === "shared" || isOwner(rule, agent);
    },
  };
}
