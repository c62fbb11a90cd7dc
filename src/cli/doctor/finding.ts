/** The result of a check of `a2e doctor`. */
export interface Finding {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly message: string;
  /** How to fix it. */
  readonly advice?: string;
}
