import { lookupTable } from "../base/lookup-table.ts";

/** What makes the first row of a list, by its command. */
const makers = lookupTable<string>({
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

/** Where an empty list is what was asked for. */
const inPlace = lookupTable<string>({
  "emulator clock advance": "Nothing was due. To show the time: svc emulator clock",
});

/**
 * What a person reads in place of an empty table: that it is, and what comes next, or which flags have left everything
 * out.
 */
export function describeEmptyResult(words: readonly string[], filters: readonly string[] = []): string {
  const other = inPlace[words.join(" ")];
  if (other !== undefined) return other;
  if (filters.length > 0) return describeFilteredResult(filters);
  const maker = makers[words.join(" ")];
  return maker === undefined ? "Nothing found" : `Nothing found; ${maker}`;
}

/** The same of a list that these flags have made shorter. */
export const describeFilteredResult = (filters: readonly string[]): string =>
  `Nothing found with ${filters.map((flag) => `--${flag}`).join(" and ")}`;
