import type * as z from "zod";
import { isObject, lookupTable } from "../../base/object.ts";
import { findNearest } from "../../base/text.ts";
import type { CommandDeclaration } from "../../derive/command-spec.ts";

const maxSuggestions = 3;

const oneContract =
  "Use svc contracts status for the status, or svc emulator show-contract for all details on an emulator";

const oneWebhook = "Use svc webhooks why to diagnose a webhook, or svc webhooks list to list all";
const notifyHint = "Use svc webhooks trigger to send a test webhook, or svc webhooks replay to resend a saved delivery";
const log =
  "Use svc emulator requests or svc webhooks deliveries. The log of an emulator that was started with --detach is .svc/emulator.json.log";

/** Commands in other groups by the name of an operation that a group does not have. */
const replacements = lookupTable<string>({
  "contracts show": oneContract,
  "contracts get": oneContract,
  "contracts view": oneContract,
  "webhooks show": oneWebhook,
  "webhooks get": oneWebhook,
  "webhooks view": oneWebhook,
  "webhooks status": oneWebhook,
  "webhooks test": notifyHint,
  "webhooks fire": notifyHint,
  "webhooks send": notifyHint,
  "emulator log": log,
  "emulator logs": log,
});

export const findReplacement = (words: readonly string[]): string | undefined =>
  replacements[words.slice(0, 2).join(" ")];

/**
 * Suggests `svc emulator exec` for an unknown `exec`. Lists commands and groups with that name in other groups, and
 * prefers those that match the next words. Returns undefined if there are none or too many.
 */
export function suggestCommand(
  unknownWords: readonly string[],
  commands: readonly Pick<CommandDeclaration, "words">[],
): string | undefined {
  const matches = commands.flatMap(({ words }) => {
    const index = words.indexOf(unknownWords[0] ?? "");
    if (index < 0) return [];
    const differs = words.slice(index).findIndex((word, i) => word !== unknownWords[i]);
    const end = differs < 0 ? words.length : index + differs;
    return [{ name: ["svc", ...words.slice(0, end)].join(" "), alike: end - index }];
  });
  const longest = Math.max(...matches.map(({ alike }) => alike));
  const names = new Set(matches.filter(({ alike }) => alike === longest).map(({ name }) => name));
  return names.size === 0 || names.size > maxSuggestions ? undefined : `Did you mean ${[...names].join(" or ")}?`;
}

/** Lists commands that accept an option that this command does not. Returns undefined if there are none or too many. */
export function suggestCommandsWithOption(
  unknownFlag: string,
  commands: readonly Pick<CommandDeclaration, "words" | "flags">[],
): string | undefined {
  const matches = commands.filter(({ flags }) => flags.some(({ flag }) => flag === unknownFlag));
  if (matches.length === 0 || matches.length > maxSuggestions) return undefined;
  return `--${unknownFlag} is an option of ${matches.map(({ words }) => `svc ${words.join(" ")}`).join(" and ")}.`;
}

/**
 * Describes misspelled fields of a body. Services ignore unknown fields silently, so the field would be lost. A field
 * that resembles no declared name is intended, as in events of apps.
 */
export function findMisspeltFields(schema: z.ZodType | undefined, body: unknown): string[] {
  const fieldNames = schema && listFields(schema);
  if (fieldNames === undefined || !isObject(body)) return [];
  return Object.keys(body).flatMap((name) => {
    const nearest = fieldNames.includes(name) ? undefined : findNearest(name, fieldNames);
    if (nearest === undefined) return [];
    return [`${name} is not a declared field of the body and may be ignored. Did you mean ${nearest}?`];
  });
}

/** Lists the fields of an object that ignores all others. Returns undefined for any other schema. */
function listFields(schema: z.core.$ZodType): readonly string[] | undefined {
  // The interface that zod documents for libraries (https://zod.dev/library-authors). It does not load zod.
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if ("innerType" in def) return listFields(def.innerType);
  return def.type === "object" && def.catchall === undefined ? Object.keys(def.shape) : undefined;
}

/** Suggests flags that contain all words, such as `--only-for-activities` for `activities`, unless too many do. */
export function suggestPartialName(unknownFlag: string, flags: readonly string[]): string | undefined {
  const words = unknownFlag.split("-");
  const matches = flags.filter((flag) => words.every((word) => flag.split("-").includes(word)));
  if (matches.length === 0 || matches.length > maxSuggestions) return undefined;
  return `Did you mean ${matches.map((flag) => `--${flag}`).join(" or ")}?`;
}
