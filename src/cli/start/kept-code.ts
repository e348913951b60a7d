import { lstatSync, mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Script } from "node:vm";
import { writeWholeSync } from "../../files/whole-file-sync.ts";
import { optimiseWasm } from "./wasm-compiler.ts";

/**
 * What V8 has compiled of a bundle, in a folder for temporary files. V8 compiles a function when it is first called; for
 * one request that takes as long as all that the functions do. By hand: `enableCompileCache` of Node 22.8 keeps what is
 * compiled before anything is called, half of it. NODE_DISABLE_COMPILE_CACHE turns this off as it does that.
 */
export class KeptCode {
  readonly #folder: string | undefined;
  readonly #scripts = new Map<string, Script>();

  /**
   * `bundle` names the texts of all scripts: V8 itself compares no more of them than their length. `installation`: the folder
   * that they lie in, which what is compiled names, too, as stacks show.
   */
  constructor(bundle: string, installation: string) {
    this.#folder = process.env.NODE_DISABLE_COMPILE_CACHE
      ? undefined
      : ownFolder(`${bundle}-${shortened(installation)}`);
  }

  /** For the script of that name; V8 looks whether it was compiled by its own version with the same flags. */
  codeOf(name: string): Buffer | undefined {
    if (this.#folder === undefined) return undefined;
    try {
      return readFileSync(join(this.#folder, name));
    } catch {
      return undefined;
    }
  }

  /** To be kept in the end. */
  add(name: string, script: Script): void {
    this.#scripts.set(name, script);
  }

  /**
   * Keeps what is compiled of all scripts, unless V8 has taken each from here: one that it has not shows that this
   * process has done something else than those before it, also with the others.
   */
  keep(): void {
    if (this.#folder === undefined) return;
    if ([...this.#scripts.values()].every(({ cachedDataRejected }) => cachedDataRejected === false)) return;
    // What is compiled under other flags than those of its start, the next process would refuse.
    optimiseWasm(true);
    try {
      // V8 trusts what it reads: no other process, nor one after a power cut, may find half of it.
      for (const [name, script] of this.#scripts) writeWholeSync(join(this.#folder, name), script.createCachedData());
    } catch {
      // No room, or no right to write: the next process compiles again.
    }
  }
}

/** A text in a few letters (FNV-1a): to load a library that hashes would take longer than to compile much of it. */
function shortened(text: string): string {
  let sum = 0x811c9dc5;
  for (const byte of Buffer.from(text)) sum = Math.imul(sum ^ byte, 0x01000193);
  return (sum >>> 0).toString(36);
}

/** One for each version of V8; undefined where others could write to it, and so have us run whatever they like. */
function ownFolder(bundle: string): string | undefined {
  const uid = process.getuid?.();
  const path = join(tmpdir(), ["svc-toolkit", bundle, process.arch, process.versions.v8, uid].join("-"));
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) {
      mkdirSync(path, { mode: 0o700 });
      return path;
    }
    const isOwn = found.isDirectory() && (uid === undefined || (found.uid === uid && (found.mode & 0o077) === 0));
    return isOwn ? path : undefined;
  } catch {
    // No place for it, or another process has made one at this moment.
    return undefined;
  }
}
