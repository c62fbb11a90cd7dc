/** What became of trying to use a sandbox on this machine. */
export interface Opened<T> {
  /** Absent where it does not work. */
  sandbox?: T;
  /** What it confines, or why it does not work. */
  explanation: string;
  /** What to do about it. */
  advice?: string;
}
