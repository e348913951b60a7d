interface AbortListeners {
  readonly acts: Set<() => void>;
  readonly notifyAll: () => void;
}

/**
 * The callbacks of each signal. It has a single listener, however many callbacks there are, because Node.js reports
 * more than ten as a leak.
 */
const waiting = new WeakMap<AbortSignal, AbortListeners>();

/**
 * Calls the function once when the signal is aborted; it must not be aborted yet. Returns a function that removes the
 * listener.
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  const all = waiting.get(signal) ?? listenTo(signal);
  // The same function may be registered twice.
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
