import { posix } from "node:path";
import type { SourceFile } from "./repository.ts";

/** Paths that a page names, in links or as code, and that do not exist. `<…>` stands for any name. */
export const deadPaths = (pages: readonly SourceFile[], paths: readonly string[]): string[] =>
  pages.flatMap(({ path, text }) => {
    const folder = posix.dirname(path);
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, link]) => posix.join(folder, link!));
    // As code, paths are given from the root of the project.
    const named = [...text.matchAll(/`((?:src|emulator|fixtures|test|bin|\.ci)\/[\w./-]*)`/g)].map(([, name]) =>
      posix.normalize(name!).replace(/\/$/, ""),
    );
    return [...links, ...named]
      .filter((target) => !paths.some((one) => one === target || one.startsWith(`${target}/`)))
      .map((target) => `${path} names ${target}`);
  });

/** The lines of the first block of shell commands. */
export const firstCommands = (text: string): string[] =>
  /```sh\n([\s\S]*?)```/
    .exec(text)?.[1]
    ?.split("\n")
    .filter((line) => line !== "") ?? [];
