import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject, tryParseJson } from "../../base/object.ts";
import { writeFileAtomic } from "../../files/atomic-write.ts";
import { isFsError } from "../../files/fs-errors.ts";
import { UsageError } from "../failure.ts";

export const acceptedName = "accepted.json";

/** The differences of a corpus that are known, with the reason of each. */
export async function readAccepted(folder: string): Promise<Record<string, string>> {
  const text = await readFile(join(folder, acceptedName), "utf8").catch((error: unknown) => {
    if (isFsError(error) && error.code === "ENOENT") return "{}";
    throw error;
  });
  const value = tryParseJson(text);
  if (!isObject(value) || Object.values(value).some((reason) => typeof reason !== "string"))
    throw new UsageError(`${join(folder, acceptedName)} is not a JSON object of reasons by the ids of differences`);
  return value as Record<string, string>;
}

export const writeAccepted = (folder: string, accepted: Readonly<Record<string, string>>): Promise<void> =>
  writeFileAtomic(join(folder, acceptedName), `${JSON.stringify(accepted, undefined, 2)}\n`);
