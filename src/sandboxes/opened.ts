/** The result of testing a sandbox on this machine. */
export interface Opened<T> {
  /** Undefined if it does not work. */
  sandbox?: T;
  /** What it confines, or why it does not work. */
  explanation: string;
  /** What the operator can do about it. */
  advice?: string;
}
