// Counts what budgets have used. A charge is written with the turn in which it was made, so that no answer leaves before
// the charge of its call is as durable as the answer.
import type { Logger } from "../plugin/logger.ts";
import { type UsageUnit, usageUnits } from "../plugin/usage.ts";
import type { Clock } from "../protocol/envelope.ts";
import type { A2EError } from "../protocol/errors.ts";
import type { Budget, Budgets } from "./budgets.ts";
import { budgetUsedUp } from "./refusals.ts";
import type { UsageStore } from "./usage-store.ts";

export const dayMs = 24 * 3600 * 1000;

/** Counters in memory; others are read from the store again. Counters that are not durable yet are never dropped. */
const maxCounters = 10_000;

/** The part of a budget from which on its use is logged as a warning. */
const warnAt = 0.8;

interface Counter {
  readonly key: string;
  used: number;
  day: number;
  /** Writes whose turn is not durable yet. */
  writes: number;
}

export interface LedgerOptions {
  readonly store: UsageStore;
  readonly clock: Clock;
  readonly log: Logger;
}

const unitsAfterwards = (Object.keys(usageUnits) as UsageUnit[]).filter((unit) => usageUnits[unit].afterwards);

export class Ledger {
  readonly #store: UsageStore;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #counters = new Map<string, Counter>();
  /** Charged since the last write, or written in a turn that was lost. */
  readonly #unwritten = new Set<Counter>();
  #isScheduled = false;

  constructor({ store, clock, log }: LedgerOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Charges all budgets of the unit, or none: throws if one of them has less left. See `Charge` in plugin/usage.ts. */
  charge(budgets: Budgets, unit: UsageUnit, amount: number): void {
    if (!(amount >= 0 && amount < Number.POSITIVE_INFINITY)) throw new TypeError(`cannot charge ${amount} ${unit}`);
    const charged = budgets.get(unit);
    if (charged === undefined || amount === 0) return;
    const now = this.#clock.now();
    if (!usageUnits[unit].afterwards) {
      for (const budget of charged) {
        if (this.#counterOf(budget, now).used + amount > budget.limit) throw this.#usedUp(budget, now);
      }
    }
    for (const budget of charged) this.#add(budget, amount, now);
    this.#schedule();
  }

  /** Throws if a unit that is charged after its use is used up. */
  check(budgets: Budgets): void {
    for (const unit of unitsAfterwards) {
      for (const budget of budgets.get(unit) ?? []) {
        const now = this.#clock.now();
        if (this.#counterOf(budget, now).used >= budget.limit) throw this.#usedUp(budget, now);
      }
    }
  }

  /**
   * Call before a call is answered in a later turn than it was charged in. If the turn of the charge was lost, the
   * charge becomes part of the turn of the answer.
   */
  settle(): void {
    if (this.#unwritten.size > 0) this.#schedule();
  }

  #add(budget: Budget, amount: number, now: number): void {
    const counter = this.#counterOf(budget, now);
    const before = counter.used;
    counter.used += amount;
    this.#unwritten.add(counter);
    const { unit, limit, key } = budget;
    if (before < limit * warnAt && counter.used >= limit * warnAt)
      this.#log.warn("a budget is nearly used up", { budget: key, unit, used: counter.used, limit });
  }

  #counterOf({ key, isDaily }: Budget, now: number): Counter {
    const counter = this.#counters.get(key) ?? this.#read(key);
    // A clock that is set back does not begin an earlier day, whose budget was used before.
    const today = isDaily ? Math.max(counter.day, Math.floor(now / dayMs)) : 0;
    if (counter.day !== today) {
      counter.day = today;
      counter.used = 0;
    }
    return counter;
  }

  #read(key: string): Counter {
    const { used, day } = this.#store.read(key) ?? { used: 0, day: 0 };
    const counter = { key, used, day, writes: 0 };
    if (this.#counters.size >= maxCounters) this.#makeRoom();
    this.#counters.set(key, counter);
    return counter;
  }

  #makeRoom(): void {
    for (const [key, counter] of this.#counters) {
      if (counter.writes > 0 || this.#unwritten.has(counter)) continue;
      this.#counters.delete(key);
      if (this.#counters.size <= maxCounters / 2) return;
    }
  }

  #usedUp(budget: Budget, now: number): A2EError {
    const { used, day } = this.#counterOf(budget, now);
    return budgetUsedUp(budget, used, now, budget.isDaily ? (day + 1) * dayMs : undefined);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#store.beforeCommit((error) => this.#write(error));
    this.#isScheduled = true;
  }

  #write(lost: Error | undefined): void {
    this.#isScheduled = false;
    // The charges stay unwritten until the next charge or `settle`: trying again at once would not end on a full disk.
    if (lost !== undefined) return;
    const written = [...this.#unwritten];
    this.#store.write(written, (error) => {
      for (const counter of written) {
        counter.writes -= 1;
        if (error !== undefined) this.#unwritten.add(counter);
      }
    });
    this.#unwritten.clear();
    for (const counter of written) counter.writes += 1;
  }
}
