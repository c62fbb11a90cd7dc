// What calls use up, in units that budgets limit.

/** The units of budgets. `afterwards`: the amount is known only once it was used, as with the tokens of a model. */
export const usageUnits = {
  calls: { afterwards: false },
  env_steps: { afterwards: false },
  process_seconds: { afterwards: false },
  tokens: { afterwards: true },
  cost_usd: { afterwards: true },
  bytes_stored: { afterwards: false },
} as const;

export type UsageUnit = keyof typeof usageUnits;

/** A limit for some of the units. */
export type Amounts = { readonly [Unit in UsageUnit]?: number };

/**
 * Charges an amount to the budgets of the principal. Call it before the amount is used: it throws an A2EError
 * (`rate_limited`), and charges nothing, if a budget has less left. `tokens` and `cost_usd` are reported after their use:
 * they are always charged, and once they are used up, the principal's further calls are refused.
 */
export type Charge = (unit: UsageUnit, amount: number) => void;
