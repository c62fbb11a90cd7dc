// Who may read and write the semantic tier of a namespace. The other tiers belong to one session or one agent anyway.

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

/** The rule named `*` holds for namespaces that have none; without it they are shared. */
export function createNamespacePolicy(rules: Readonly<Record<string, NamespaceRule>>): NamespacePolicy {
  // A map: a namespace may be called like something that every object has.
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
