import { declarationsOf } from "../command-tree.ts";
import type { Declared } from "../declared.ts";
import { UsageError } from "../failure.ts";
import { operationBehind } from "../help/described.ts";
import { manifest } from "../help/manifest.ts";
import { wholeTree } from "../help/tree.ts";

/** Groups that sign people in, or speak for connected apps: not an agent's. */
const personal: ReadonlySet<string> = new Set([
  "auth",
  "oidc",
  "trial",
  "invites",
  "chat-a",
  "chat-b",
  "crm-a",
  "crm-b",
]);

/** Operations whose answers are secrets as a whole, or whatever somebody sent. */
const withheld: ReadonlySet<string> = new Set(["state.export", "clusters.inbox", "emails.blackhole"]);

/** Every command as `svc help --json` lists it. */
export const listedCommands = async () => manifest(await wholeTree(declarationsOf), "").commands;

type ListedCommand = Awaited<ReturnType<typeof listedCommands>>[number];

/** Whether its words or its operation are called so: `contracts status` or `contracts.status`. */
const isCalled = ({ command, operation }: ListedCommand, name: string): boolean =>
  command === name || operation === name;

/** Throws UsageError where there is none. */
export async function listedCommand(name: string): Promise<ListedCommand> {
  const wanted = name.trim().replace(/^svc /, "");
  const commands = await listedCommands();
  const found = commands.find((one) => one.command === wanted) ?? commands.find((one) => isCalled(one, wanted));
  if (!found) throw new UsageError(`Operation "${name}" not found`, { hint: "Look for it with the tool find." });
  return found;
}

const maxFound = 12;

/** The commands of operations that have to do with all words, or with most of them. */
export async function findCommands(query: string) {
  const words = query.toLowerCase().match(/[\w-]+/g) ?? [];
  const scored = (await listedCommands())
    .filter(({ operation }) => operation !== undefined)
    .map((one) => ({ one, score: scoreOf(one, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  return scored
    .slice(0, maxFound)
    .map(({ one: { command, summary, operation, method } }) => ({ command, summary, operation, method }));
}

/** A word of the command counts most; its plural and its beginning count as the word. */
function scoreOf({ command, summary, description = "", path = "" }: ListedCommand, words: readonly string[]): number {
  const places = [
    [command, 4],
    [summary.toLowerCase(), 2],
    [`${path} ${description.toLowerCase()}`, 1],
  ] as const;
  const scores = words.map((word) => {
    const stem = word.length > 4 ? word.replace(/(?:ing|ed|es|s|e)$/, "") : word;
    return Math.max(0, ...places.map(([text, weight]) => (text.includes(stem) ? weight : 0)));
  });
  return scores.reduce((sum, one) => sum + one, 0);
}

/** What an agent gives for one call. */
export interface CallInput {
  readonly operation: string;
  readonly params?: Readonly<Record<string, string | number>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
}

/** The command line of one call, and what is piped into it. Throws UsageError where an agent may not make it. */
export async function callLine(input: CallInput, allowWrites: boolean): Promise<{ argv: string[]; stdin?: string }> {
  const listed = await listedCommand(input.operation);
  const declared = await declaredOf(listed.command);
  requireCallable(listed, declared, allowWrites);
  const { params = {}, query = {}, body } = input;
  const { confirm } = operationBehind(declared);
  const argv = [
    ...declared.words,
    ...positionalsOf(declared, params),
    ...Object.entries(query).flatMap(([name, value]) => flagOf(declared, name, value)),
    ...(body === undefined ? [] : ["--data", "-"]),
    ...(confirm === undefined ? [] : ["--yes"]),
  ];
  return body === undefined ? { argv } : { argv, stdin: JSON.stringify(body) };
}

async function declaredOf(command: string): Promise<Declared> {
  const words = command.split(" ");
  const found = (await declarationsOf(words[0]!)).find((one) => one.words.join(" ") === command);
  if (!found) throw new Error(`${command} is listed and not declared`);
  return found;
}

function requireCallable({ command, operation = "" }: ListedCommand, declared: Declared, allowWrites: boolean): void {
  const { output, method, confirm, body } = operationBehind(declared);
  const byHand = (hint: string) => new UsageError(`svc ${command} cannot be called by an agent`, { hint });
  if (operation === "") throw byHand("It calls no operation. Run it in a shell.");
  if (personal.has(declared.words[0]!)) throw byHand("It acts for a person or a connected app.");
  if (withheld.has(operation)) throw byHand("Its response holds secrets.");
  if ((output !== "json" && output !== "empty") || body === "raw" || body === "stream") {
    throw byHand("It sends or returns something else than JSON. Run it in a shell.");
  }
  if (confirm === "name") throw byHand("A person has to confirm it by name.");
  if (method !== "GET" && !allowWrites) {
    throw new UsageError(`svc ${command} changes something, and this server only reads`, {
      hint: "A person may start it with svc mcp --allow-writes.",
    });
  }
}

function positionalsOf({ positionals }: Declared, params: NonNullable<CallInput["params"]>): string[] {
  const left = new Map(Object.entries(params).map(([name, value]) => [name.replaceAll("-", "_"), String(value)]));
  const given = positionals.flatMap(({ name, optional }) => {
    const value = left.get(name.replaceAll("-", "_"));
    left.delete(name.replaceAll("-", "_"));
    if (value === undefined && optional) return [];
    if (value === undefined || value === "") throw new UsageError(`params.${name} is required`);
    if (value.startsWith("-")) throw new UsageError(`params.${name} must not begin with a hyphen, got "${value}"`);
    return [value];
  });
  const [unknown] = left.keys();
  if (unknown !== undefined) throw new UsageError(`params has no field "${unknown}"`);
  return given;
}

/** Only what goes into the query: other flags choose services, files and formats. */
function flagOf({ flags }: Declared, name: string, value: unknown): string[] {
  const spelt = name.replaceAll("_", "-");
  const found = flags.find(({ flag, target }) => target?.in === "query" && (target.name === name || flag === spelt));
  if (!found || found.isBase64) throw new UsageError(`query has no field "${name}"`);
  const { flag, type } = found;
  const values = Array.isArray(value) ? value : [value];
  return values.map((one) => {
    if (type === "switch" || type === "boolean") return one === false ? `--no-${flag}` : `--${flag}`;
    return `--${flag}=${typeof one === "object" ? JSON.stringify(one) : String(one)}`;
  });
}
