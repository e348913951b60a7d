import { stat } from "node:fs/promises";
import type { Host } from "../../host.ts";
import { openInput, requireFile } from "../../parse/body.ts";
import { fileBytes } from "./bytes.ts";

/** Where the rows of a run come from. */
export interface InputSource {
  /** Absolute; `-` for what can be read only once: standard input, a named pipe, a process substitution. */
  readonly path: string;
  /** `standard input`, or as it was typed. */
  readonly name: string;
  readonly open: () => AsyncIterable<Uint8Array>;
}

/** What a command line names as its rows. Throws UsageError where there is nothing to read. */
export async function openInputSource(host: Host, named: string, place: string): Promise<InputSource> {
  if (named === "-") {
    const open = async function* () {
      yield* await openInput(host, named, place);
    };
    return { path: "-", name: "standard input", open };
  }
  const path = await requireFile(host, named, place);
  const isLasting = (await stat(path)).isFile() && !ofThisProcess.test(path);
  return { path: isLasting ? path : "-", name: named, open: () => fileBytes(path) };
}

/** Names of open files, whatever they lead to: later nobody finds the rows there. */
const ofThisProcess = /^\/(dev\/(stdin$|fd\/)|proc\/[^/]+\/fd\/)/;
