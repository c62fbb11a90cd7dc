/** Where a host listens unless it is told otherwise. */
export const defaultUrl = "http://127.0.0.1:8765";
