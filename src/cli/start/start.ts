// What `bin/svc.js` loads. The build makes a file of its own of it, which loads all others of the command line.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { KeptCode } from "./kept-code.ts";

/** Set by the build: the name of the chunk that holds `main`. */
declare const SVC_MAIN_CHUNK: string;

/** Set by the build, too: no other bundle has it, unless it is the same in every byte. */
declare const SVC_BUNDLE_ID: string;

const modules = new Map<string, { readonly exports: object }>();

/** The command line, with what V8 compiles of it kept for the next process. */
export function commandLine(): typeof import("../entry.ts") {
  const kept = new KeptCode(SVC_BUNDLE_ID);
  const main = load(SVC_MAIN_CHUNK, kept);
  // Not where the process is ended: whoever does that is in a hurry.
  process.once("beforeExit", () => kept.keep());
  return main as typeof import("../entry.ts");
}

/** Runs a chunk once: a function that the build has made of a CommonJS module (build.ts). */
function load(name: string, kept: KeptCode): object {
  const loaded = modules.get(name);
  if (loaded) return loaded.exports;
  const module = { exports: {} };
  modules.set(name, module);
  const filename = join(__dirname, name);
  const script = new Script(readFileSync(filename, "utf8"), { filename, cachedData: kept.codeOf(name) });
  kept.add(name, script);
  script.runInThisContext()(module.exports, required, module, pathToFileURL(filename).href, importModule);
  return module.exports;

  function required(id: string): unknown {
    return id.startsWith("./") ? load(id.slice(2), kept) : process.getBuiltinModule(id);
  }
}

/** A door for programs beside the chunks, which is a module: the emulator. */
const importModule = (id: string): Promise<object> => import(new URL(id, pathToFileURL(__filename)).href);
