import { listWorkspaces } from "../../../api/emulator/state.ts";
import type { Webhook } from "../../../api/webhook-health/health.ts";
import { findNearest } from "../../../base/text.ts";
import type { Client } from "../../../client/client.ts";
import type { Context } from "../../command.ts";
import { CommandFailedError, UsageError } from "../../process/failure.ts";

export type ControlAccess = Pick<Context, "signal"> & { readonly client: Client };

/** Maximum number of webhooks listed in one message. */
const maxNamed = 5;

/**
 * Finds the webhooks that an argument names by ID, URL, title or workspace. An unknown number may be the ID of a
 * deleted webhook: returns undefined unless it matches a title or workspace.
 */
export async function findNamedWebhooks(
  argument: string,
  all: readonly Webhook[],
  { client, signal }: ControlAccess,
): Promise<readonly Webhook[] | undefined> {
  const exact = all.filter(({ id, url }) => String(id) === argument || url === argument);
  if (exact.length > 0) return exact;
  const workspaces = await client.call(listWorkspaces, {}, { signal });
  const owners = filterByName(argument, workspaces, ({ name }) => name).concat(
    workspaces.filter(({ id }) => String(id) === argument),
  );
  const titled = filterByName(argument, all, ({ title }) => title);
  const found = all.filter((one) => titled.includes(one) || owners.some(({ id }) => id === one.workspace_id));
  if (titled.length > 0 && owners.length > 0 && found.length > titled.length) {
    throw new UsageError(`"${argument}" is ambiguous: it is the title of a webhook and the name of a workspace`, {
      hint: `Use an ID. ${formatChoices(found)}`,
    });
  }
  const distinct = new Set(titled.map(({ title }) => title)).size + new Set(owners.map(({ id }) => id)).size;
  if (distinct > 1) {
    const names = [...titled.map(({ title }) => title), ...owners.map(({ name, id }) => `${name} (workspace ${id})`)];
    throw new UsageError(`"${argument}" is ambiguous: ${cutShort([...new Set(names)], ", ")}`, {
      hint: found.length > 0 ? `Use an ID. ${formatChoices(found)}` : "Use the full name.",
    });
  }
  if (found.length > 0) return found;
  const [owner] = owners;
  if (owner && String(owner.id) !== argument) {
    throw createMissingWebhookError(`Workspace "${owner.name}" (${owner.id}) has no webhooks.`, undefined);
  }
  if (/^[1-9]\d{0,14}$/.test(argument)) return undefined;
  throw createMissingWebhookError(
    `Webhook "${argument}" not found.`,
    findNearName(argument, [
      ...all.map(({ title }) => title),
      ...workspaces.map(({ name }) => name),
      ...all.map(({ url }) => url),
    ]),
  );
}

/** Reports that there is no such webhook, with a suggestion. */
export const createMissingWebhookError = (message: string, hint: string | undefined): CommandFailedError =>
  new CommandFailedError("not-found", "no_webhook", message, { hint, next: ["webhooks", "list"] });

function findNearName(argument: string, names: readonly string[]): string | undefined {
  const lowerCaseName = argument.toLowerCase();
  const within = [...new Set(names.filter((name) => name.toLowerCase().includes(lowerCaseName)))];
  const typed = findNearest(argument, names);
  const found = within.length > 0 ? within : typed === undefined ? [] : [typed];
  return found.length === 0 ? undefined : `Did you mean ${cutShort(found, " or ")}?`;
}

/** Finds webhooks with exactly that name, ignoring case, or else by the beginning of the name. */
function filterByName<T>(argument: string, all: readonly T[], getName: (one: T) => string): readonly T[] {
  const lowerCaseName = argument.toLowerCase();
  const exact = all.filter((one) => getName(one).toLowerCase() === lowerCaseName);
  return exact.length > 0 ? exact : all.filter((one) => getName(one).toLowerCase().startsWith(lowerCaseName));
}

const cutShort = (all: readonly string[], separator: string): string =>
  `${all.slice(0, maxNamed).join(separator)}${all.length > maxNamed ? `${separator}${all.length - maxNamed} more` : ""}`;

const formatWebhook = ({ id, title, status, url }: Webhook): string => `${id}  ${title}  ${status}  ${url}`;
const formatChoices = (all: readonly Webhook[]): string => `There are: ${cutShort(all.map(formatWebhook), "; ")}`;
