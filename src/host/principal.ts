/** Who a session acts for. The gate knows principals, never tokens. */
export interface Principal {
  /** Stable across sessions of the same agent. */
  readonly id: string;
  readonly isAuthenticated: boolean;
}

export const anonymous: Principal = { id: "", isAuthenticated: false };
