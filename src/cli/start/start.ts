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

/** And the version that the package had when it was built: to read it takes Node a millisecond. */
declare const SVC_VERSION: string;

const modules = new Map<string, { readonly exports: object }>();

/** The command line, with what V8 compiles of it kept for the next process. */
export function commandLine(): Pick<typeof import("../entry.ts"), "main" | "processHost"> & { version: string } {
  const kept = new KeptCode(SVC_BUNDLE_ID, __dirname);
  const { main, processHost } = load(SVC_MAIN_CHUNK, kept) as typeof import("../entry.ts");
  // Not where the process is ended: whoever does that is in a hurry.
  process.once("beforeExit", () => kept.keep());
  return { main, processHost, version: SVC_VERSION };
}

/** Runs a chunk once: a CommonJS module that the build has made (build.ts), of the command line or of the emulator. */
function load(name: string, kept: KeptCode): object {
  const loaded = modules.get(name);
  if (loaded) return loaded.exports;
  const module = { exports: {} };
  modules.set(name, module);
  const filename = join(__dirname, name);
  const code = readFileSync(filename, "utf8");
  const text = `(function (exports, require, module, __filename, __dirname, chunkFile) {${code}})`;
  const script = new Script(text, { filename, cachedData: kept.codeOf(name) });
  kept.add(name, script);
  script.runInThisContext()(module.exports, required, module, filename, __dirname, {
    // Few chunks ask where they lie.
    get url() {
      return pathToFileURL(filename).href;
    },
  });
  return module.exports;

  function required(id: string): unknown {
    if (id.startsWith("./")) return load(id.slice(2), kept);
    const found = process.getBuiltinModule(id);
    // As Node says it: packages try what may be installed beside them.
    if (found === undefined) throw Object.assign(new Error(`Cannot find module '${id}'`), { code: "MODULE_NOT_FOUND" });
    return found;
  }
}
