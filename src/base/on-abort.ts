interface AbortListeners {
  readonly acts: Set<() => void>;
  readonly notifyAll: () => void;
}

/**
 * The callbacks of each signal: it has one listener of ours, however many callbacks there are. Node reports more than
 * ten as a leak.
 */
const waiting = new WeakMap<AbortSignal, AbortListeners>();

/**
 * Calls the function once, when the signal is aborted; it must not be aborted yet. Returns the function that ends the
 * waiting.
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  const all = waiting.get(signal) ?? listenTo(signal);
  // The same function may wait twice.
  const listener = () => act();
  all.acts.add(listener);
  return () => {
    all.acts.delete(listener);
    if (all.acts.size > 0 || waiting.get(signal) !== all) return;
    waiting.delete(signal);
    signal.removeEventListener("abort", all.notifyAll);
  };
}

function listenTo(signal: AbortSignal): AbortListeners {
  const acts = new Set<() => void>();
  const notifyAll = () => {
    waiting.delete(signal);
    for (const act of [...acts]) act();
  };
  signal.addEventListener("abort", notifyAll, { once: true });
  const all = { acts, notifyAll };
  waiting.set(signal, all);
  return all;
}
