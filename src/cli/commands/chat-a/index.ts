import type { Command } from "../../command.ts";
import { signedCommand } from "./signed.ts";

const event = "event.json";
const form = "payload.txt";

export const commands: readonly Command[] = [
  signedCommand("event", event, "Forward an event of chat_a to its team's cluster"),
  signedCommand("interaction", form, "Forward an interaction of chat_a to its team's cluster"),
  signedCommand("options", form, "Forward an options request of chat_a to its team's cluster"),
  signedCommand("destination-event", event, "Forward an event of chat_a within a destination", ["default"]),
  signedCommand("destination-interaction", form, "Forward an interaction of chat_a within a destination", ["default"]),
  signedCommand("destination-options", form, "Forward an options request of chat_a within a destination", ["default"]),
];
