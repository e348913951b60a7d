import { activityGroups } from "../api/activities.ts";
import type { Basis } from "../api/basis.ts";
import { conditions, emailDeliveryActivities, lifecycleRows, requirements } from "../api/contracts/lifecycle.ts";
import { unemulatedFeatures, unemulatedRoutes } from "../api/contracts/unemulated-routes.ts";
import { failureCatalogue } from "../api/failures.ts";
import { getRequiredRole, type Operation } from "../api/operation.ts";
import { groupBy, lookupTable } from "../base/object.ts";
import { pluralize } from "../base/text.ts";
import type { CommandDeclaration, FlagSpec, PositionalSpec } from "./command-spec.ts";
import { findObservedFailure, type ObservedClaim, type ObservedClaims } from "./openapi.ts";

interface ReferenceParts {
  readonly registry: readonly Operation[];
  readonly commands: readonly CommandDeclaration[];
  readonly globalFlags: readonly FlagSpec[];
  readonly exitCodes: readonly { readonly code: number; readonly meaning: string }[];
  readonly observed?: ObservedClaims;
}

/** Renders the reference page in Markdown: every operation, command, flag, failure, activity and exit code. */
export function renderReference({ registry, commands, globalFlags, exitCodes, observed = {} }: ReferenceParts): string {
  const byWords = new Map(commands.map((command) => [command.words.join(" "), command]));
  const findCommand = ({ cli }: Operation) => byWords.get("by" in cli ? cli.by : cli.command);
  const standing = new Set(registry.map(findCommand));

  const severalCalls = commands.filter((command) => !standing.has(command));
  return `${joinBlocks(
    "# Reference",
    "Generated from the declarations in `src/api` by `src/derive/reference.ts`. “Basis” is the source of a fact: the specification, public material of the service, or an assumption.",
    ...[...groupBy(registry, ({ service }) => service)].flatMap(([service, operations]) => [
      `## ${service.title}`,
      service.failures.length > 0 ? `Any operation may also respond with ${formatCodes(service.failures)}.` : "",
      ...operations.map((operation) =>
        renderOperationSection(operation, findCommand(operation), observed[operation.id]),
      ),
    ]),
    globalFlags.length > 0 ? "## Flags of every command" : "",
    renderFlagTable(globalFlags),
    severalCalls.length > 0 ? "## Commands of several requests" : "",
    ...severalCalls.flatMap((command) => [
      `### ${command.words.join(" ")}`,
      ...describeCommand(command),
      formatCode(formatUsage(command)),
      renderFlagTable(command.flags),
    ]),
    renderUnemulatedSection(),
    renderLifecycleSection(),
    renderActivitySection(registry),
    renderFailureSection(observed),
    exitCodes.length > 0 ? "## Exit codes" : "",
    renderMarkdownTable(
      ["Code", "Meaning"],
      exitCodes.map(({ code, meaning }) => [String(code), meaning]),
    ),
  )}\n`;
}

const renderFailureSection = (observed: ObservedClaims): string =>
  joinBlocks(
    "## Failures",
    renderMarkdownTable(
      ["Code", "Status", "Form", "When", "Basis"],
      Object.entries(failureCatalogue)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, { status, shape, when, basis }]) => [
          formatCode(name),
          String(status),
          shape,
          when,
          describeBasis(basis, findObservedFailure(observed, name)),
        ]),
    ),
  );

const renderUnemulatedSection = (): string =>
  joinBlocks(
    "## Public routes that are not emulated",
    "The service has these routes, but their description is not public. The emulator responds 501 and names the missing facts, unless the seed scripts a response (`apps.answers`).",
    renderMarkdownTable(
      ["Route", "About", "Missing facts"],
      unemulatedRoutes.map(({ path, subject, missing }) => [formatCode(path), subject, missing]),
    ),
    "The paths of these routes are not public. Requests for them get 404, like any unknown path:",
    renderMarkdownTable(
      ["About", "Missing facts"],
      unemulatedFeatures.map(({ subject, missing }) => [subject, missing]),
    ),
  );

const renderActivitySection = (registry: readonly Operation[]): string =>
  joinBlocks(
    "## Activities",
    "Send a test webhook for any of them with `svc webhooks trigger`.",
    ...Object.entries(activityGroups).flatMap(([group, activities]) => [
      `### ${group}`,
      renderMarkdownTable(
        ["Activity", "Caused by"],
        activities.map((activity) => [
          formatCode(activity),
          formatCodes(registry.filter(({ emits }) => emits?.includes(activity)).map(({ id }) => id)),
        ]),
      ),
    ]),
  );

const renderLifecycleSection = (): string =>
  joinBlocks(
    "## Lifecycle of a contract",
    "Other transitions are rejected.",
    ["```mermaid", "stateDiagram-v2", ...renderArrows(), "```"],
    renderMarkdownTable(
      ["Trigger", "From", "When", "Needs", "To", "Emits", "One virtual minute later"],
      lifecycleRows.map((move) => [
        move.trigger,
        move.from.join(", "),
        "when" in move && move.when !== undefined ? conditions[move.when] : "",
        "requires" in move
          ? (move.requires ?? []).map((need) => `${need} (else ${requirements[need]})`).join(", ")
          : "",
        "refusedAs" in move ? `rejected: ${move.refusedAs}` : (specialTargets[move.to] ?? move.to),
        "emits" in move ? formatCodes(move.emits) : "",
        "sends" in move && move.sends ? formatCodes(emailDeliveryActivities[move.sends]) : "",
      ]),
    ),
  );

const specialTargets = lookupTable<string>({ "=": "(stays)", held: "(the status before the hold)" });

function renderArrows(): string[] {
  const lines = lifecycleRows.flatMap((move) => {
    if ("refusedAs" in move || move.to === "=") return [];
    // A hold can return to many states. The diagram shows only the way out.
    const to = move.to === "held" ? "REDLINING" : renderNode(move.to);
    return move.from.map((from) => `    ${renderNode(from)} --> ${to}: ${move.trigger}`);
  });
  return [...new Set(lines)];
}

const renderNode = (state: string): string => (state === "(new)" || state === "(deleted)" ? "[*]" : state);

/** Renders one operation with its command. `command` is undefined while the hand-written command is missing. */
function renderOperationSection(
  operation: Operation,
  command: CommandDeclaration | undefined,
  seen: ObservedClaim | undefined,
): string {
  const { id, summary, description } = operation;
  const facts: [string, string][] = [
    ["Route", formatCode(`${[operation.method].flat().join("|")} ${operation.path}`)],
    ["Credentials", operation.auth],
    ["Role", getRequiredRole(operation) ?? ""],
    [
      "Responses",
      Object.entries(operation.responses)
        .map(([status, { kind }]) => `${status} (${kind})`)
        .join(", "),
    ],
    ["Failures", formatCodes(operation.failures)],
    ["Failures of its cluster", formatCodes(operation.clusterFailures ?? [])],
    ["Emits", formatCodes(operation.emits ?? [])],
    ["Basis", describeBasis(operation.basis, seen)],
  ];
  return joinBlocks(
    `### ${id}`,
    `${summary}.${description === undefined ? "" : ` ${description}`}`,
    facts.filter(([, text]) => text !== "").map(([name, text]) => `- ${name}: ${text}`),
    ...(command
      ? [
          formatCode(formatUsage(command)),
          ...describeCommand(command, [`${summary}.`, description ?? ""]),
          renderFlagTable(command.flags),
        ]
      : []),
  );
}

const formatUsage = ({ words, positionals, flags }: CommandDeclaration): string =>
  ["svc", ...words, ...positionals.map(formatPlaceholder), ...(flags.length > 0 ? ["[flags]"] : [])].join(" ");

/** Renders the help text above the flags. For the command of an operation, it omits the text of the operation. */
const describeCommand = ({ summary, description }: CommandDeclaration, details: readonly string[] = []): string[] =>
  [`${summary}.`, ...(description?.split(/\n{2,}/) ?? [])].filter((part) => !details.includes(part));

function formatPlaceholder({ name, optional, variadic }: PositionalSpec): string {
  const shown = `${name.toUpperCase()}${variadic ? "…" : ""}`;
  return optional ? `[${shown}]` : shown;
}

const renderFlagTable = (flags: readonly FlagSpec[]): string[] =>
  renderMarkdownTable(
    ["Flag", "Value", "Meaning"],
    flags.map((flag) => [formatCode(`--${flag.flag}`), formatValue(flag), describeFlag(flag)]),
  );

const formatValue = ({ type, placeholder, choices }: FlagSpec): string =>
  type === "switch" ? "" : (placeholder ?? choices?.map(formatCode).join(", ") ?? type);

const describeFlag = ({ description, required, repeatable, default: preset }: FlagSpec): string =>
  [
    description,
    required ? "required" : "",
    repeatable ? "repeatable" : "",
    preset === undefined ? "" : `default: ${preset}`,
  ]
    .filter((part) => part !== "")
    .join("; ");

/**
 * Describes the basis of a claim: `specified`, `public`, or `assumed: <reason>`. For an observation, it adds the
 * number, the last time and the differences.
 */
function describeBasis(basis: Basis, seen?: ObservedClaim): string {
  if (!seen) return typeof basis === "string" ? basis : `assumed: ${basis.assumed}`;
  const differs = seen.differs.length === 0 ? "" : `; differs: ${seen.differs.join(", ")}`;
  return `observed ${pluralize(seen.count, "time")}, last at ${seen.at}${differs}`;
}

function renderMarkdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const renderLine = (cells: readonly string[]) => `| ${cells.map(escapeCell).join(" | ")} |`;
  return [renderLine(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(renderLine)];
}

const escapeCell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

const formatCode = (text: string): string => `\`${text}\``;

const formatCodes = (texts: readonly string[]): string => texts.map(formatCode).join(", ");

/** Joins blocks with one empty line. Empty blocks are omitted. */
const joinBlocks = (...parts: readonly (string | readonly string[])[]): string =>
  parts
    .map((part) => (typeof part === "string" ? part : part.join("\n")))
    .filter((part) => part !== "")
    .join("\n\n");
