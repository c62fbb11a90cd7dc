/** What an application's callback throws must not break the reader it was called from; it surfaces on its own. */
export function guarded(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
