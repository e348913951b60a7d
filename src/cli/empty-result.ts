import { lookupTable } from "../base/lookup-table.ts";

/** What makes the first row of a list, by its command. */
const makers = lookupTable<string>({
  "contracts list": "svc contracts create makes one",
  "intake list": "svc intake create makes one",
  "contracts counterparties list": "svc contracts create brings them along",
  "emulator webhooks": "svc webhooks listen or create makes a subscription",
  "emulator deliveries": "svc webhooks trigger tells subscriptions of an activity",
  "emulator emails": "svc contracts send sends some",
  "emulator invitations": "svc contracts send invites those who sign",
  "emulator inbox": "it fills with what the router forwards",
  "emulator fault list": "svc emulator fault add makes one",
  "emulator requests": "they are listed from the next one on",
});

/** Where an empty list is what was asked for. */
const inPlace = lookupTable<string>({
  "emulator clock advance": "Nothing was due until then; svc emulator clock tells the time",
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
