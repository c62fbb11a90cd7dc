/**
 * An error thrown by an application's callback must not break its caller; it becomes an uncaught exception of its own.
 */
export function guarded(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
