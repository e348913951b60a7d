import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { bundle } from "../../build.ts";
import { root } from "../structure/repository.ts";

let making: Promise<string> | undefined;
after(async () => making && rm(await making, { recursive: true, force: true }));

/** A folder with the program as it ships, made once for a test file, and gone at its end. */
function shipped(): Promise<string> {
  making ??= (async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-test-"));
    for (const part of ["bin", "package.json"]) await cp(join(root, part), join(folder, part), { recursive: true });
    await bundle(join(folder, "dist"));
    return folder;
  })();
  return making;
}

/** The folder of its bundle. */
export const shippedBundle = async (): Promise<string> => join(await shipped(), "dist");

/** What npm links as `svc`: to be run by Node. */
export const shippedSvc = async (): Promise<string> => join(await shipped(), "bin/svc.js");
