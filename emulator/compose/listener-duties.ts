import type { ListenerOptions } from "../http/listener.ts";

/** What all listeners of one emulator share. */
export type ListenerDuties = Pick<
  ListenerOptions,
  "clock" | "wall" | "log" | "settings" | "allowedHosts" | "publicUrl" | "faultFor" | "report"
>;
