// Installs quotas at the seams of a host: around calls, where rights are given, before a session, and at the audit log,
// whose entries have the sizes of messages.
import type { HostOptions } from "../host/host.ts";
import { type AuditLog, noAudit } from "../host/ports/audit.ts";
import { silentLogger } from "../plugin/logger.ts";
import { noDatabase } from "../plugin/ports/no-database.ts";
import { systemClock } from "../protocol/envelope.ts";
import { hasQuotas, type QuotaSettings } from "../quotas/quota-settings.ts";
import { Quotas } from "../quotas/quotas.ts";
import { createUsageStore } from "../quotas/usage-store.ts";
import { everything } from "../rights/rights.ts";

/** `areTokensAccepted`: agents may present narrowed tokens, which may have budgets of their own. */
export function withQuotas(
  options: HostOptions,
  settings: QuotaSettings,
  { areTokensAccepted = false }: { areTokensAccepted?: boolean } = {},
): HostOptions {
  // Without quotas, nothing is installed: an interceptor costs every call a little.
  if (!hasQuotas(settings) && !areTokensAccepted) return options;
  const { clock = systemClock, log = silentLogger, database = noDatabase, audit = noAudit } = options;
  const { authorize = () => everything, interceptors = [] } = options;
  const quotas = new Quotas({ settings, store: createUsageStore(database), clock, log });
  return {
    ...options,
    // The outermost: a call that is refused must cost as little as possible.
    interceptors: [(next) => (call) => quotas.run(call, next), ...interceptors],
    authorize(principal, session) {
      const rights = authorize(principal, session);
      quotas.openSession(principal, session);
      return rights;
    },
    admit(identity) {
      options.admit?.(identity);
      quotas.checkSessions(identity);
    },
    charge: (principal, unit, amount) => quotas.charge(principal, unit, amount),
    ...(countsBytes(settings) ? { audit: countingBytes(audit, quotas) } : {}),
  };
}

function countsBytes({ default: all, roles, principals }: QuotaSettings): boolean {
  const sections = [all, ...Object.values(roles), ...Object.values(principals)];
  return sections.some(({ bytes_per_second }) => typeof bytes_per_second === "number");
}

/** Counts the lines of requests and their answers. Events, pushes and messages within this process have no entry or size. */
function countingBytes(audit: AuditLog, quotas: Quotas): AuditLog {
  return {
    ...audit,
    record(entry) {
      quotas.countBytes(entry.principal, entry.bytes_in + entry.bytes_out);
      audit.record(entry);
    },
    close: () => audit.close(),
  };
}
