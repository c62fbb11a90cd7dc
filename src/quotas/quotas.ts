// Limits and budgets per principal, for the seams of a host: src/compose/quota-seams.ts installs them.
import type { Logger } from "../plugin/logger.ts";
import type { Principal } from "../plugin/principal.ts";
import type { UsageUnit } from "../plugin/usage.ts";
import { cancel, handshake, ping } from "../protocol/core.ts";
import type { Clock } from "../protocol/envelope.ts";
import { type Budgets, budgetsOf } from "./budgets.ts";
import { Ledger } from "./ledger.ts";
import { PrincipalUse } from "./principal-use.ts";
import { type PrincipalQuota, type QuotaSettings, quotaOf } from "./quota-settings.ts";
import type { UsageStore } from "./usage-store.ts";

export interface QuotasOptions {
  readonly settings: QuotaSettings;
  readonly store: UsageStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The part of an intercepted call that quotas use. */
export interface MeteredCall {
  readonly type: string;
  readonly session: { readonly principal: Principal };
  readonly isNested: boolean;
  readonly signal: AbortSignal;
}

/** Limits and budgets of one principal, as one of its sessions has them. */
interface Meter {
  readonly quota: PrincipalQuota;
  readonly budgets: Budgets;
  readonly use: PrincipalUse;
}

/** These must get through for an agent to open its session and to end what it has started. */
const freeTypes: ReadonlySet<string> = new Set([handshake.type, ping.type, cancel.type]);

/** Principals in memory; beyond it, those without a session that have used nothing lately are forgotten. */
const maxPrincipals = 10_000;

export class Quotas {
  readonly #settings: QuotaSettings;
  readonly #clock: Clock;
  readonly #ledger: Ledger;
  readonly #uses = new Map<string, PrincipalUse>();
  readonly #meters = new WeakMap<Principal, Meter>();
  readonly #counted = new WeakSet<object>();

  constructor({ settings, store, clock, log }: QuotasOptions) {
    this.#settings = settings;
    this.#clock = clock;
    this.#ledger = new Ledger({ store, clock, log });
  }

  /** Throws if the principal may not have another session. */
  checkSessions(principal: Pick<Principal, "id" | "roles">): void {
    this.#useOf(principal.id).checkSessions(quotaOf(this.#settings, principal));
  }

  /** Counts a session until it is closed, once. Throws if it is one too many. */
  openSession(principal: Principal, session: { onClosed(listener: () => void): void }): void {
    if (this.#counted.has(session)) return;
    const { quota } = this.#meterOf(principal);
    const use = this.#useOf(principal.id);
    use.checkSessions(quota);
    this.#counted.add(session);
    use.sessions += 1;
    session.onClosed(() => {
      use.sessions -= 1;
    });
  }

  /** Runs a call if the limits and budgets of its principal allow it. Nested calls are charged, but not limited. */
  run<Call extends MeteredCall, Result>(
    call: Call,
    next: (call: Call) => Result | Promise<Result>,
  ): Result | Promise<Result> {
    if (freeTypes.has(call.type)) return next(call);
    const { quota, budgets, use } = this.#meterOf(call.session.principal);
    if (budgets.size > 0) this.#ledger.check(budgets);
    if (call.isNested) {
      this.#ledger.charge(budgets, "calls", 1);
      return this.#settled(next(call), budgets);
    }
    use.beginCall(quota, this.#clock.now());
    let result: Result | Promise<Result>;
    try {
      this.#ledger.charge(budgets, "calls", 1);
      result = next(call);
    } catch (error) {
      use.endCall();
      throw error;
    }
    if (result instanceof Promise && quota.maxParallelCalls !== undefined) whenEnded(result, call, () => use.endCall());
    else use.endCall();
    return this.#settled(result, budgets);
  }

  /** Charges the budgets of a principal; see `Charge` in plugin/usage.ts. */
  charge(principal: Principal, unit: UsageUnit, amount: number): void {
    this.#ledger.charge(this.#meterOf(principal).budgets, unit, amount);
  }

  /** Counts bytes of a principal that has a session. */
  countBytes(principalId: string, bytes: number): void {
    this.#uses.get(principalId)?.countBytes(bytes, this.#clock.now());
  }

  /** See `Ledger.settle`. A result that is there at once is answered in the turn of its charge. */
  #settled<Result>(result: Result | Promise<Result>, budgets: Budgets): Result | Promise<Result> {
    if (budgets.size === 0 || !(result instanceof Promise)) return result;
    return result.finally(() => this.#ledger.settle());
  }

  #meterOf(principal: Principal): Meter {
    const known = this.#meters.get(principal);
    if (known !== undefined) return known;
    const quota = quotaOf(this.#settings, principal);
    const meter = { quota, budgets: budgetsOf(principal, quota), use: this.#useOf(principal.id) };
    meter.use.quota = quota;
    this.#meters.set(principal, meter);
    return meter;
  }

  #useOf(id: string): PrincipalUse {
    const known = this.#uses.get(id);
    if (known !== undefined) return known;
    if (this.#uses.size >= maxPrincipals) this.#forgetIdle();
    const use = new PrincipalUse();
    this.#uses.set(id, use);
    return use;
  }

  #forgetIdle(): void {
    const now = this.#clock.now();
    for (const [id, use] of this.#uses) if (use.isIdle(now)) this.#uses.delete(id);
  }
}

/** Calls `end` once: when the handler ends, or when the call is answered because it timed out or was cancelled. */
function whenEnded(result: Promise<unknown>, { signal }: MeteredCall, end: () => void): void {
  let hasEnded = false;
  const once = () => {
    if (hasEnded) return;
    hasEnded = true;
    signal.removeEventListener("abort", once);
    end();
  };
  signal.addEventListener("abort", once);
  result.then(once, once);
}
