import type { Failure } from "../../src/api/failure.ts";
import type { Operation } from "../../src/api/operation.ts";
import { sampleOf } from "../../src/derive/openapi/failures.ts";
import type { SourceFile } from "./repository.ts";

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
