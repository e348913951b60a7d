import { lookupTable } from "../../base/object.ts";

/** Ways to fill the list of a command, by its words. */
const creationCommands = lookupTable<string>({
  "contracts list": "to create one: svc contracts create",
  "intake list": "to create one: svc intake create",
  "contracts counterparties list": "to create a contract with them: svc contracts create",
  "emulator webhooks": "to create one: svc webhooks listen or svc webhooks create",
  "emulator deliveries": "to send a test webhook: svc webhooks trigger",
  "emulator emails": "to send one: svc contracts send",
  "emulator invitations": "to invite signatories: svc contracts send",
  "emulator inbox": "it lists requests that the router forwards",
  "emulator fault list": "to add one: svc emulator fault add",
  "emulator requests": "new requests will be listed",
});

export function describeEmptyResult(words: readonly string[], filters: readonly string[]): string {
  // The filter of this command requests an empty list.
  if (words.join(" ") === "emulator clock advance") return "Nothing was due. To show the time: svc emulator clock";
  if (filters.length > 0) return `Nothing found with ${filters.map((flag) => `--${flag}`).join(" and ")}`;
  const maker = creationCommands[words.join(" ")];
  return maker === undefined ? "Nothing found" : `Nothing found; ${maker}`;
}
