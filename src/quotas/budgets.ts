// Which budgets a principal is charged to: its own, and those of every token of its chain.
import type { Principal } from "../plugin/principal.ts";
import { type Amounts, type UsageUnit, usageUnits } from "../plugin/usage.ts";
import type { PrincipalQuota } from "./quota-settings.ts";

export interface Budget {
  /** Under which its use is counted and stored. Not that of a key: a rotated key goes on with the same count. */
  readonly key: string;
  readonly unit: UsageUnit;
  readonly isDaily: boolean;
  readonly limit: number;
  /** The id of the token whose budget it is; undefined for that of the principal. */
  readonly token?: string;
}

/** By unit. Empty for a principal without a budget. */
export type Budgets = ReadonlyMap<UsageUnit, readonly Budget[]>;

const units = Object.keys(usageUnits) as UsageUnit[];

export function budgetsOf({ id, budgets = [] }: Principal, { perDay, inAll }: PrincipalQuota): Budgets {
  const all = [
    ...toBudgets("principal", id, inAll, false),
    ...toBudgets("principal", id, perDay, true),
    ...budgets.flatMap(({ id: token, budget }) =>
      toBudgets("token", token, budget, false).map((own) => ({ ...own, token })),
    ),
  ];
  return new Map(
    units
      .map((unit) => [unit, all.filter((budget) => budget.unit === unit)] as const)
      .filter(([, of]) => of.length > 0),
  );
}

function toBudgets(kind: "principal" | "token", id: string, amounts: Amounts, isDaily: boolean): Budget[] {
  return units.flatMap((unit) => {
    const limit = amounts[unit];
    // The id comes last: it may contain any character.
    return limit === undefined
      ? []
      : [{ key: `${unit}/${isDaily ? "day" : "all"}/${kind}/${id}`, unit, isDaily, limit }];
  });
}
