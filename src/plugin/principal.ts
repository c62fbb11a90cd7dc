/** The identity that a session acts for. The gate decides by principal and never sees tokens. */
export interface Principal {
  /** Stable across sessions of the same agent. */
  readonly id: string;
  readonly isAuthenticated: boolean;
}

export const anonymous: Principal = { id: "", isAuthenticated: false };
