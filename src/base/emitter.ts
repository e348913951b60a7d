/** Listeners of one kind of event. They are called in the order in which they were added, and must not block. */
export class Emitter<Event extends readonly unknown[] = []> {
  readonly #listeners = new Set<(...event: Event) => void>();

  /** Calls the listener at each event. Returns a function that removes it. */
  readonly watch = (listener: (...event: Event) => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  emit(...event: Event): void {
    for (const listener of this.#listeners) listener(...event);
  }
}
