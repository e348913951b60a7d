import { posix } from "node:path";
import type { SourceFile } from "./repository.ts";

/** Lists missing paths that a page names, in links or as code. `<…>` matches any name. */
export const findDeadPaths = (pages: readonly SourceFile[], paths: readonly string[]): string[] =>
  pages.flatMap(({ path, text }) => {
    const folder = posix.dirname(path);
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, link]) => posix.join(folder, link!));
    // Paths in code start at the root of the project.
    const mentions = [...text.matchAll(/`((?:src|emulator|fixtures|test|bin|build|docs|\.ci)\/[\w./-]*)`/g)].map(
      ([, name]) => posix.normalize(name!).replace(/\/$/, ""),
    );
    return [...links, ...mentions]
      .filter((target) => !paths.some((value) => value === target || value.startsWith(`${target}/`)))
      .map((target) => `${path} names ${target}`);
  });

/** Returns the lines of the first block of shell commands. */
export const extractFirstCommands = (text: string): string[] =>
  /```sh\n([\s\S]*?)```/
    .exec(text)?.[1]
    ?.split("\n")
    .filter((line) => line !== "") ?? [];

/** Lists commands that a text shows as code and that do not exist. */
export const findDeadCommands = (files: readonly SourceFile[], commands: readonly string[]): string[] =>
  files.flatMap(({ path, text }) =>
    [...text.matchAll(/(?:[`$]\s*|npx |&& |^)svc((?: [a-z][a-z-]*)+)/gm)]
      .map(([, words]) => words!.trim())
      // The words after the name of a command are its arguments.
      .filter((commandLine) => !commands.some((command) => `${commandLine} `.startsWith(`${command} `)))
      // A group without a command prints its help.
      .filter((commandLine) => !commands.some((command) => command.startsWith(`${commandLine} `)))
      .map((commandLine) => `${path} shows svc ${commandLine}`),
  );
