import { readFile } from "node:fs/promises";
import { EmulatorBugError } from "../../src/base/bug.ts";
import type { ConsoleAsset, ConsoleBundle, ReadConsole } from "../control/console/bundle.ts";

/** Beside the bundle that ships; a checkout has what it built last. */
const folder = new URL(import.meta.url.endsWith(".ts") ? "../../dist/console/" : "./console/", import.meta.url);

/** What the build says of the files (build/console.ts writes it). */
interface Manifest {
  readonly script: string;
  readonly style: string;
  readonly icon: string;
  readonly types: Readonly<Record<string, string>>;
}

/** Reads the console's files at the first request for one of them, and keeps them: an emulator whose console nobody opens has none. */
export function consoleReader(): ReadConsole {
  let reading: Promise<ConsoleBundle> | undefined;
  return () => {
    reading ??= readConsole().catch((cause) => {
      reading = undefined;
      throw new EmulatorBugError("The console page is not built. Run npm run build", { cause });
    });
    return reading;
  };
}

async function readConsole(): Promise<ConsoleBundle> {
  const { types, ...page }: Manifest = JSON.parse(await readFile(new URL("manifest.json", folder), "utf8"));
  const assets = await Promise.all(
    Object.entries(types).map(
      async ([name, type]): Promise<ConsoleAsset> => ({
        name,
        type,
        bytes: await readFile(new URL(name, folder)),
        compressed: await readFile(new URL(`${name}.br`, folder)),
      }),
    ),
  );
  return { ...page, assets: new Map(assets.map((asset) => [asset.name, asset])) };
}
