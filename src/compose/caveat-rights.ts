// From the caveats of a narrowed token, and the scopes of an API key, to rights.
import { parsePattern } from "../rights/pattern.ts";
import { Rights } from "../rights/rights.ts";
import type { RightsLayer } from "../rights/roles.ts";
import type { Caveats } from "../tokens/caveats.ts";

/** The rights that all links of a token leave. Each caveat restricts its own kind: `tools` alone leaves memory as it is. */
export function rightsOfCaveats(links: readonly Caveats[]): Rights {
  const layers = links.flatMap(({ capabilities, tools, namespaces, environments }): RightsLayer[] => [
    ...(capabilities === undefined ? [] : [toLayer("capabilities", capabilities.map(toCalls))]),
    ...toKindLayer("tools", "tool", tools),
    ...toKindLayer("namespaces", "ns", namespaces),
    ...toKindLayer("environments", "env", environments),
  ]);
  return new Rights({ layers });
}

/** A key with scopes may do what its roles and these patterns allow. */
export function rightsOfScopes(scopes: readonly string[]): Rights {
  return new Rights({ layers: [toLayer("scopes", scopes)] });
}

function toKindLayer(caveat: string, kind: string, names: readonly string[] | undefined): RightsLayer[] {
  // With "*" in front, `tool:read` is the tool "read", and not all calls of `tool` that read.
  return names === undefined
    ? []
    : [
        {
          kind,
          ...toLayer(
            caveat,
            names.map((name) => `* ${kind}:${name}`),
          ),
        },
      ];
}

/** A text that is not the name of a capability allows nothing. */
function toCalls(capability: string): string {
  return /^[\w*?-]+$/.test(capability) ? `${capability}/*` : "";
}

/** Patterns that cannot be parsed are left out: less is allowed then. */
function toLayer(source: string, patterns: readonly string[]): RightsLayer {
  const allow = patterns.filter((text) => parsePattern(text).pattern !== undefined);
  return { roles: [{ name: `token ${source}`, allow, deny: [] }] };
}
