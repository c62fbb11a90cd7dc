// @ts-check
// An interceptor of a client: counts calls by their type, and gives each an id that a log can be searched for.

/**
 * @param {Map<string, number>} counts
 * @param {string} prefix of the ids
 * @returns {import("a2e/client").ClientInterceptor}
 */
export function countCalls(counts, prefix) {
  let number = 0;
  return (next) => (call) => {
    const { type } = call.call;
    counts.set(type, (counts.get(type) ?? 0) + 1);
    number += 1;
    return next({ ...call, options: { id: `${prefix}-${number}`, ...call.options } });
  };
}
