/** The longest time that a timer of JavaScript can wait: 24.8 days. Asked for more, it fires after a millisecond. */
export const maxTimerMs = 2 ** 31 - 1;
