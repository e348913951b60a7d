import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { build, type Metafile } from "esbuild";
import { contentType } from "mime-types";
import type { ConsoleSignature } from "../src/console/deliveries/signature.ts";
import { deriveConsoleOperations } from "../src/derive/specs.ts";
import { getDefaultScheme, getSignatureHeader } from "../src/schemes/webhook-schemes.ts";

const root = join(import.meta.dirname, "..");

/** The files that the console page loads, by their role. */
const parts = { script: "src/console/main.tsx", style: "src/console/console.css", icon: "src/console/icon.svg" };

/** How the page checks a signature; null if a check needs more than body and key. */
function getConsoleSignature(): ConsoleSignature | null {
  const scheme = getDefaultScheme();
  const { getSignedText, ...format } = scheme.format;
  return getSignedText ? null : { header: getSignatureHeader(scheme), ...format };
}

/**
 * Bundles the console page into `outdir`. Each file has a hash in its name and is compressed. The emulator finds them
 * by `manifest.json` (emulator/compose/listeners.ts).
 */
export async function bundleConsole(outdir: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    outdir,
    entryPoints: Object.values(parts),
    entryNames: "[name]-[hash]",
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    define: {
      SVC_CONSOLE_OPERATIONS: JSON.stringify(deriveConsoleOperations()),
      SVC_CONSOLE_SIGNATURE: JSON.stringify(getConsoleSignature()),
    },
    loader: { ".svg": "copy" },
    minify: true,
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  });
  const created = Object.entries(metafile.outputs).map(([path, { entryPoint }]) => ({
    name: basename(path),
    entryPoint,
  }));
  const findOutputName = (part: string) => created.find(({ entryPoint }) => entryPoint === part)!.name;
  const manifest = {
    ...Object.fromEntries(Object.entries(parts).map(([name, path]) => [name, findOutputName(path)])),
    types: Object.fromEntries(created.map(({ name }) => [name, contentType(name)])),
  };
  mkdirSync(outdir, { recursive: true });
  for (const { name } of created) {
    const file = join(outdir, name);
    writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file)));
    rmSync(file);
  }
  writeFileSync(`${outdir}/manifest.json`, JSON.stringify(manifest));
  return metafile;
}
