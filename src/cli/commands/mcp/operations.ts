import * as z from "zod";
import { dictionary } from "../../../api/shapes.ts";
import type { Manifest } from "../../parse/manifest.ts";
import { UsageError } from "../../process/failure.ts";

/** Command as in `svc help --json`. */
export type ListedCommand = Manifest["commands"][number];

/** Groups that sign users in or act for connected apps. Agents cannot use them. */
const userOnlyGroups = ["auth", "oidc", "trial", "invites", "chat-a", "chat-b", "crm-a", "crm-b"];

/** Operations whose responses are entirely secret, or contain arbitrary data of senders. */
const withheldOperations = ["state.export", "clusters.inbox", "emails.blackhole"];

/** Finds a command by a name such as `contracts status` or `contracts.status`. Throws UsageError if there is none. */
export function findCommand(commands: readonly ListedCommand[], name: string): ListedCommand {
  const normalizedName = name.trim().replace(/^svc /, "");
  const match =
    commands.find(({ command }) => command === normalizedName) ??
    // The aliases of a command come before it.
    commands.findLast(({ operation }) => operation === normalizedName);
  if (!match) throw new UsageError(`Operation "${name}" not found`, { hint: "Search for it with the find tool." });
  return match;
}

const maxMatches = 12;

export function findCommands(commands: readonly ListedCommand[], query: string) {
  const words = query.toLowerCase().match(/[\w-]+/g) ?? [];
  return (
    commands
      .filter(({ operation }) => operation !== undefined)
      .map((command) => ({ command, score: scoreCommand(command, words) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      // A command can have aliases, which repeat its operation.
      .filter(({ command }, i, all) => all.findIndex((other) => other.command.operation === command.operation) === i)
      .slice(0, maxMatches)
      .map(({ command: { command, summary, operation, method } }) => ({ command, summary, operation, method }))
  );
}

/** Scores a command. Matches in its name have the highest weight. Plurals and prefixes match, too. */
function scoreCommand({ command, summary, description = "", path = "" }: ListedCommand, words: readonly string[]) {
  const weightedTexts = [
    [command, 4],
    [summary.toLowerCase(), 2],
    [`${path} ${description.toLowerCase()}`, 1],
  ] as const;
  return words.reduce((sum, word) => {
    const stem = word.length > 4 ? word.replace(/(?:ing|ed|es|s|e)$/, "") : word;
    return sum + (weightedTexts.find(([text]) => text.includes(stem))?.[1] ?? 0);
  }, 0);
}

/** Input of a call, as an agent provides it. */
export const callShape = {
  operation: z.string(),
  params: dictionary(z.union([z.string(), z.number()])).optional(),
  query: dictionary(z.unknown()).optional(),
  // Also without writes, so that a change is rejected as such.
  body: z.unknown().optional(),
};
type OperationCallInput = z.infer<z.ZodObject<typeof callShape>>;

/** Creates command line and standard input of one request. Throws UsageError if agents cannot run the command. */
export function createCallLine(
  commands: readonly ListedCommand[],
  { operation, params = {}, query = {}, body }: OperationCallInput,
  allowWrites: boolean,
) {
  const command = findCommand(commands, operation);
  requireCallable(command, allowWrites);
  if (body !== undefined && !command.flags.some(({ flag }) => flag === "data"))
    throw new UsageError(`svc ${command.command} takes no body`);
  const argv = [
    ...command.command.split(" "),
    ...readPositionals(command, params),
    ...Object.entries(query).flatMap(([name, value]) => formatFlag(command, name, value)),
    ...(body === undefined ? [] : ["--data", "-"]),
    ...(command.confirm === undefined ? [] : ["--yes"]),
  ];
  return { argv, stdin: body === undefined ? undefined : JSON.stringify(body) };
}

/** Explains why only users can run a command. Returns undefined if agents and scenario files can run it, too. */
export function explainUserOnly({ command, operation }: Pick<ListedCommand, "command" | "operation">) {
  if (operation === undefined) return "It calls no operation. Run it in a shell.";
  return userOnlyGroups.includes(command.split(" ")[0]!) ? "It acts for a person or a connected app." : undefined;
}

function requireCallable({ command, operation, response, method, confirm, body }: ListedCommand, allowWrites: boolean) {
  const createAgentError = (hint: string) => new UsageError(`svc ${command} cannot be called by an agent`, { hint });
  const personalReason = explainUserOnly({ command, operation });
  if (personalReason !== undefined) throw createAgentError(personalReason);
  if (operation !== undefined && withheldOperations.includes(operation))
    throw createAgentError("Its response contains secrets.");
  if ((response !== "json" && response !== "empty") || body === "raw" || body === "stream")
    throw createAgentError("It sends or returns content other than JSON. Run it in a shell.");
  if (confirm === "name") throw createAgentError("A person has to confirm it by name.");
  if (method !== "GET" && !allowWrites) {
    throw new UsageError(`svc ${command} changes something, and this server only reads`, {
      hint: "A person may start it with svc mcp --allow-writes.",
    });
  }
}

function readPositionals({ positionals }: ListedCommand, params: NonNullable<OperationCallInput["params"]>): string[] {
  const remaining = new Map(Object.entries(params).map(([name, value]) => [name.replaceAll("-", "_"), String(value)]));
  const args = positionals.flatMap(({ name, optional }) => {
    const value = remaining.get(name.replaceAll("-", "_"));
    remaining.delete(name.replaceAll("-", "_"));
    if (value === undefined && optional) return [];
    if (value === undefined || value === "") throw new UsageError(`params.${name} is required`);
    if (value.startsWith("-")) throw new UsageError(`params.${name} must not begin with a hyphen, got "${value}"`);
    return [value];
  });
  const [unknownName] = remaining.keys();
  if (unknownName !== undefined) throw new UsageError(`params has no field "${unknownName}"`);
  return args;
}

/** Flags of hand-written commands that only affect the request. For example, `--within` also advances the clock. */
const requestFlags = ["activity", "outcome", "status", "contract", "webhook", "count", "new", "wait-timeout"];

/**
 * Formats a query parameter or header as a flag. Other flags select services, files and formats: rejected. A filter can
 * have an operator: `filter-created-at[$gt]`.
 */
function formatFlag({ flags }: ListedCommand, name: string, value: unknown): string[] {
  const flag = name.replaceAll(/_+/g, "-");
  const [, plainFlag, operator] = /^([\w-]+)(\[\$\w+\])?$/.exec(flag) ?? [];
  const isOfRequest = ({ in: location }: ListedCommand["flags"][number]) =>
    location === undefined ? requestFlags.includes(flag) : location === "query" || location === "headers";
  const spec = flags.find((spec) => spec.flag === plainFlag && isOfRequest(spec));
  if (!spec || (operator !== undefined && !spec.takesOperator) || spec.isBase64)
    throw new UsageError(`query has no field "${name}"`);
  return [value].flat().map((value) => {
    if (spec.type === "switch" || spec.type === "boolean") return value === false ? `--no-${flag}` : `--${flag}`;
    return `--${flag}=${typeof value === "object" ? JSON.stringify(value) : String(value)}`;
  });
}
