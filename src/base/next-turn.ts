/** Calls in the next turn of the event loop. Node's own, read once: tests replace the global by a fake one. */
export const onNextTurn = setImmediate;

/** Resolves in the next turn of the event loop. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => onNextTurn(resolve));
