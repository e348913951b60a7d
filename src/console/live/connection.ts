import { signal } from "@preact/signals";

export type Connection = "connecting" | "live" | "lost";

/** Whether what is shown follows the emulator. */
export const connection = signal<Connection>("connecting");

/** Counts the calls that reached nothing: a stream may stay open although nothing comes through it any more. */
export const failedCallCount = signal(0);
