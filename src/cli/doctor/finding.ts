/** What `a2e doctor` says about one thing. */
export interface Finding {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly message: string;
  /** What to do about it. */
  readonly advice?: string;
}
