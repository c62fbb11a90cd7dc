/** The default address of a host. */
export const defaultUrl = "http://127.0.0.1:8765";
