import { posix } from "node:path";
import { omitComments, type SourceFile } from "./repository.ts";

/** One import of a file. `target` is a path of the project, or the name of a package or built-in module. */
export interface Import {
  readonly from: string;
  readonly target: string;
  readonly kind: "static" | "type" | "dynamic";
}

const statics = /(?:^|[\n;])\s*(import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s*)?["']([^"']+)["']/g;
const dynamics = /\bimport\(\s*["']([^"']+)["']\s*\)/g;

/** Lists the imports of a file, including re-exports. */
export function parseImports({ path, text }: SourceFile): Import[] {
  const code = omitComments(text);
  const resolve = (name: string) => (name.startsWith(".") ? posix.join(posix.dirname(path), name) : name);
  return [
    ...[...code.matchAll(statics)].map(
      ([, , type, name]): Import => ({ from: path, target: resolve(name!), kind: type ? "type" : "static" }),
    ),
    ...[...code.matchAll(dynamics)].map(
      ([, name]): Import => ({ from: path, target: resolve(name!), kind: "dynamic" }),
    ),
  ];
}

/**
 * Returns the package name in `@scope/name/deep` or `name/deep`, or undefined for files of the project and built-in
 * modules.
 */
export function getPackageName(target: string, ourFolders: readonly string[]): string | undefined {
  if (target.startsWith("node:") || ourFolders.some((folder) => target.startsWith(`${folder}/`))) return undefined;
  return target
    .split("/")
    .slice(0, target.startsWith("@") ? 2 : 1)
    .join("/");
}
