import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";

/**
 * Formats the notices that ship with the bundle: name, version, licence and licence text of each package in it, and of
 * those in the folders `others`. A package may exist in several versions. Fails if a licence text is missing.
 */
export function formatThirdPartyNotices(
  root: string,
  metafiles: readonly Metafile[],
  others: readonly string[],
): string {
  const used = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
    ),
  );
  const folders = new Set(used.map(findPackageFolder).filter((folder) => folder !== undefined));
  return [
    "The bundle contains code and fonts of these packages, under their licences.\n",
    ...[...folders, ...others].sort().map((folder) => formatNotice(root, folder)),
  ].join("\n");
}

/** Returns the innermost package that contains a file; undefined for the project's own files. */
const findPackageFolder = (path: string): string | undefined =>
  /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];

/** Packages that name their licence but do not include its text. */
const packagesWithoutText: ReadonlySet<string> = new Set(["@bomb.sh/tab", "abstract-logging"]);

/** The text of the Unlicense, which packages do not always include. */
const unlicense = `This is free and unencumbered software released into the public domain.

Anyone is free to copy, modify, publish, use, compile, sell, or distribute this software, either in source code form or
as a compiled binary, for any purpose, commercial or non-commercial, and by any means.

In jurisdictions that recognize copyright laws, the author or authors of this software dedicate any and all copyright
interest in the software to the public domain. We make this dedication for the benefit of the public at large and to the
detriment of our heirs and successors. We intend this dedication to be an overt act of relinquishment in perpetuity of all
present and future rights to this software under copyright law.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS BE LIABLE
FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.

For more information, please refer to <https://unlicense.org>`;

function formatNotice(root: string, folder: string): string {
  const { name, version, license, author } = JSON.parse(read(root, folder, "package.json"));
  const files = readdirSync(join(root, folder)).filter((file) => /^(licen[sc]e|copying|notice)/i.test(file));
  const licenseTexts = files
    .sort()
    .map((file) => read(root, folder, file))
    .join("\n");
  const copyright = `Copyright (c) ${author}`;
  // The project's own licence is the same except for the copyright line.
  const mit =
    packagesWithoutText.has(name) && license === "MIT" && read(root, "LICENSE").replace(/^Copyright .*$/m, copyright);
  const text = licenseTexts || mit || (license === "Unlicense" ? unlicense : "");
  if (text === "" || typeof license !== "string") {
    throw new Error(
      `${folder} is bundled and has no licence or no text of it: look it up, and say so in build/licences.ts`,
    );
  }
  return `${"-".repeat(80)}\n${name} ${version} (${license})\n\n${text.trim()}\n`;
}

const read = (...path: readonly string[]): string => readFileSync(join(...path), "utf8").replaceAll("\r\n", "\n");
