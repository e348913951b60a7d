import { signal } from "@preact/signals";

export type Connection = "connecting" | "live" | "lost";

/** Whether what is shown follows the emulator. */
export const connection = signal<Connection>("connecting");
