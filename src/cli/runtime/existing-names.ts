import { lookupTable } from "../../base/object.ts";
import { ServiceError } from "../../client/errors.ts";
import type { CommandDeclaration, CommandSpec } from "../../derive/command-spec.ts";
import type { Context } from "../command.ts";
import { loadDeclarations } from "../command-tree/tree.ts";
import { findRealService } from "../connection/target.ts";
import type { CommandInput, DeclaredCommand } from "../parse/declaration.ts";
import { PartialFailureError } from "../process/failure.ts";
import { isOfOtherServer } from "../process/service-message.ts";

const hiddenHint = "The object may not exist, may belong to another workspace, or may be hidden from this user.";

/** Adds the command that lists existing objects to an error about a missing one. Returns other errors unchanged. */
export async function suggestExistingNames(
  error: unknown,
  declaration: DeclaredCommand,
  input: CommandInput,
  context: Context,
) {
  if (!(error instanceof ServiceError) || error.problem.hint !== undefined || isOfOtherServer(error)) return error;
  const spec = "id" in declaration ? declaration : declaration.spec;
  const isHidden = error.status === 403 && spec?.hidesMissing === true;
  if (error.status !== 404 && !isHidden) return error;
  const list = await listFor(declaration.words, spec, input);
  // A real service has no list of webhooks.
  const isUnavailable = list?.join(" ") === "webhooks list" && (await findRealService(undefined, context));
  const next = isUnavailable ? undefined : list;
  const hint = isHidden ? hiddenHint : findCompositeId(spec, input);
  return next || hint ? new PartialFailureError(error, [], { next, hint }) : error;
}

/**
 * Finds the command that lists the objects in the path: that of the path before the last ID, or else one next to the
 * failed command or further up. Body fields can name any object, so only a declared list is suggested.
 */
async function listFor(words: readonly string[], spec: CommandSpec | undefined, { positionals }: CommandInput) {
  if (spec?.unknownIsIn !== undefined) return spec.unknownIsIn.split(" ");
  if (spec && !spec.path.includes("{")) return undefined;
  const declarations = await loadDeclarations(words[0]!);
  const listPath = spec && normalizePath(spec.path.slice(0, spec.path.lastIndexOf("{")));
  const listing = declarations.find(
    (command) => "path" in command && command.method === "GET" && normalizePath(command.path) === listPath,
  );
  if (listing !== undefined)
    return [...listing.words, ...Object.values(positionals).slice(0, listing.positionals.length).map(String)];
  const lists = words.map((_, i) => [...words.slice(0, words.length - 1 - i), "list"]).slice(0, -1);
  return lists.find((list) =>
    declarations.some((command) => command.words.join(" ") === list.join(" ") && needsNothing(command)),
  );
}

/** Operations name the same ID differently, and only some paths end with a slash. */
const normalizePath = (path: string): string => path.replace(/\{\w+\}/g, "{}").replace(/\/$/, "");

const needsNothing = ({ positionals, flags }: CommandDeclaration): boolean =>
  positionals.every(({ optional }) => optional === true) && !flags.some(({ required }) => required === true);

/** Most commands accept a composite ID, and some accept its number. */
function findCompositeId(spec: CommandSpec | undefined, { positionals }: CommandInput): string | undefined {
  const compositeId = spec?.path.includes("{composite_id}") ? String(positionals.composite_id) : "";
  const [, number] = /^(?:[TH]-)?0*([1-9]\d{0,14})$/i.exec(compositeId) ?? [];
  if (number === undefined || compositeId === `T-${number}` || compositeId === `H-${number}`) return undefined;
  return `Use the composite ID of the contract. Did you mean T-${number}?`;
}

/** Next commands by the status or message for which a contract cannot be signed, declined or sent. */
const nextCommands = lookupTable<readonly string[]>({
  DRAFT: ["contracts", "send"],
  ON_HOLD: ["emulator", "resume"],
  "The review of this contract is not complete.": ["emulator", "complete-review"],
  "Approvals of this contract are pending.": ["emulator", "approve"],
});

const listCommands = lookupTable<readonly string[]>({
  contract_template_id: ["contracts", "templates", "list"],
  contract_type_id: ["contracts", "types", "list"],
});

/** Adds a helpful command to a rejection that names a status or an unknown ID. Returns other errors unchanged. */
export function addNextCommand(error: unknown, { positionals }: CommandInput): unknown {
  if (!(error instanceof ServiceError) || error.status !== 400 || error.problem.hint !== undefined) return error;
  const { message } = error.problem;
  const [, status = message, action] =
    /^A contract in status (\w+) cannot be (signed|declined|sent)/.exec(message) ?? [];
  const [, field = ""] = /^(\w+): Invalid pk /.exec(message) ?? [];
  const id = String(positionals.id ?? positionals.composite_id ?? "");
  const move = id === "" || (status === "DRAFT" && action === "sent") ? undefined : nextCommands[status];
  const next = move ? [...move, /^\d+$/.test(id) ? `T-${id}` : id] : listCommands[field];
  return next === undefined ? error : new PartialFailureError(error, [], { next });
}
