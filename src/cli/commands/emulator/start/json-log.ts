import type { EmulatorEvent } from "../../../../../emulator/index.ts";
import { isoMillis, type WallClock } from "../../../../base/clock.ts";
import type { Context } from "../../../command.ts";

type Level = "info" | "warn" | "error";

/** The log of an emulator for programs that collect such: a document on a line of standard error for each thing. */
export interface JsonLog {
  /** Something that an emulator did: its `at` is virtual time, `time` is that of the wall. */
  event(event: EmulatorEvent): Promise<void>;
  /** That it is up, or about to end. */
  lifecycle(event: "ready" | "stopping" | "stopped", about?: object): Promise<void>;
  /** What it has to say in words. */
  message(level: Level, message: string): Promise<void>;
}

export function jsonLog({ output }: Pick<Context, "output">, wall: WallClock): JsonLog {
  const line = (level: Level, about: object) => output.tell({ time: isoMillis(wall.now()), level, ...about });
  return {
    event: (event) => line(levelOf(event), event),
    lifecycle: (event, about = {}) => line("info", { event, ...about }),
    message: (level, message) => line(level, { event: "message", message }),
  };
}

function levelOf(event: EmulatorEvent): Level {
  if (event.event === "request") return event.status >= 500 ? "error" : event.status === 0 ? "warn" : "info";
  if (event.event === "delivery") return event.outcome === "delivered" ? "info" : "warn";
  return event.event === "dropped" ? "warn" : "info";
}
