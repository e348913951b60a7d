import type { Failure } from "../../src/api/failure.ts";
import type { Operation } from "../../src/api/operation.ts";
import { sampleOf } from "../../src/derive/openapi/failures.ts";
import type { SourceFile } from "./repository.ts";

/** Operations that no file of the emulator names as a key of its handlers, and that are not planned. */
export const withoutHandler = (
  operations: readonly Operation[],
  files: readonly SourceFile[],
  planned: Readonly<Record<string, string>>,
): string[] => {
  const text = files.map(({ text }) => text).join("\n");
  const handled = (id: string) =>
    new RegExp(`(["'])${literal(id)}\\1\\]?\\s*[:(]`).test(text) ||
    (/^\w+$/.test(id) && new RegExp(`^\\s*${id}\\s*[:(,]`, "m").test(text));
  return operations.map(({ id }) => id).filter((id) => !handled(id) && !(id in planned));
};

/** Planned operations that do not exist, that have no reason, or that are built by now. */
export const badPlans = (
  operations: readonly Operation[],
  files: readonly SourceFile[],
  planned: Readonly<Record<string, string>>,
): string[] => {
  const missing = new Set(withoutHandler(operations, files, {}));
  return Object.entries(planned).flatMap(([id, reason]) => {
    if (!operations.some((operation) => operation.id === id)) return [`${id} is planned but not declared`];
    if (reason.trim() === "") return [`${id} is planned without a reason`];
    return missing.has(id) ? [] : [`${id} is planned, yet it has a handler`];
  });
};

/** Operations whose hand-written command does not exist. */
export const withoutCommand = (operations: readonly Operation[], commands: readonly string[]): string[] =>
  operations.flatMap(({ id, cli }) => ("by" in cli && !commands.includes(cli.by) ? [`${id} needs svc ${cli.by}`] : []));

/** Operations that no test mentions: by id, by command, or by a path that fits. */
export const untested = (operations: readonly Operation[], tests: readonly SourceFile[]): string[] => {
  const text = tests.map(({ text }) => text).join("\n");
  return operations
    .filter(({ id, path, cli }) => {
      const command = "by" in cli ? cli.by : cli.command;
      return (
        ![
          `"${id}"`,
          `"${command}`,
          command
            .split(" ")
            .map((word) => `"${word}"`)
            .join(", "),
        ].some((words) => text.includes(words)) && !pathPattern(path).test(text)
      );
    })
    .map(({ id }) => id);
};

/** A path as tests write it: with a value, or with `${…}`, in each place of a name. */
function pathPattern(path: string): RegExp {
  // Tests reach the control plane from its own base URL.
  const parts = path
    .replace("/_emulator/", "")
    .split(/\{[a-z_]+\}/)
    .map(literal);
  return new RegExp(`["'\`/}]${parts.join("(?:\\$\\{[^}]*\\}|[^\"'`/\\s]+)")}["'\`?]`);
}

/** Declared failures that operations may answer with and that no test mentions, by code or by words. */
export const unprovoked = (
  catalogue: Readonly<Record<string, Failure<unknown>>>,
  operations: readonly Operation[],
  tests: readonly SourceFile[],
): string[] => {
  const text = tests.map(({ text }) => text).join("\n");
  const used = new Set(operations.flatMap(({ failures, service }) => [...failures, ...service.failures]));
  return [...used].filter((code) => {
    const failure = catalogue[code];
    return (
      !failure ||
      (!text.includes(`"${code}"`) && !leaves(sampleOf(failure)).some((words) => wordsPattern(words).test(text)))
    );
  });
};

/** The sentences and codes of a body; what is only a placeholder or a common word tells nothing. */
function leaves(body: unknown): string[] {
  if (typeof body === "string") return /^<[^>]*>$/.test(body) || body.length < 8 ? [] : [body];
  return typeof body === "object" && body !== null ? Object.values(body).flatMap(leaves) : [];
}

/** Any text may stand where the words need to know something; quotes may be escaped. */
const wordsPattern = (words: string): RegExp =>
  new RegExp(
    words
      .split(/<\w+>/)
      .map((part) => literal(part).replaceAll('"', '\\\\?"'))
      .join(".+?"),
  );

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
