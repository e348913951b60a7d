import type { Command } from "../../command.ts";
import { defineSignedCommand } from "./signed-command.ts";

const event = "event.json";
const form = "payload.txt";

export const commands: readonly Command[] = [
  defineSignedCommand("event", event, "Forward an event of chat_a to its team's cluster"),
  defineSignedCommand("interaction", form, "Forward an interaction of chat_a to its team's cluster"),
  defineSignedCommand("options", form, "Forward an options request of chat_a to its team's cluster"),
  defineSignedCommand("destination-event", event, "Forward an event of chat_a within a destination", ["default"]),
  defineSignedCommand("destination-interaction", form, "Forward an interaction of chat_a within a destination", [
    "default",
  ]),
  defineSignedCommand("destination-options", form, "Forward an options request of chat_a within a destination", [
    "default",
  ]),
];
