import { rm } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../../base/object.ts";
import type { Context } from "../command.ts";
import { configFolder } from "../config/folders.ts";
import { type Check, readPrivateFile } from "../config/private-file.ts";
import { changePrivateFile } from "../config/private-file-change.ts";
import { CommandFailedError } from "../failure.ts";
import type { AuthServer } from "./server.ts";

/** A sign-in that was begun and not waited for. It holds the device's secret: the file is its owner's alone. */
export interface PendingSignIn {
  readonly client_id: string;
  readonly device_code: string;
  readonly interval: number;
  /** ISO 8601, on the wall clock. */
  readonly expires_at: string;
  readonly server: AuthServer;
}

const path = ({ host: { env } }: Pick<Context, "host">): string => join(configFolder(env), "device-login.json");

/** Keeps it in the place of an earlier one. */
export async function savePendingSignIn(begun: PendingSignIn, context: Context): Promise<void> {
  await changePrivateFile<PendingSignIn>(
    path(context),
    () => undefined,
    context.host,
    context.signal,
    () => begun,
  );
}

export async function readPendingSignIn(context: Context): Promise<PendingSignIn> {
  const begun = await readPrivateFile<PendingSignIn>(path(context), checkBegun);
  if (begun) return begun;
  throw new CommandFailedError("usage", "nothing_begun", "No sign-in was started with --no-wait.", {
    next: ["auth", "device-login", "--no-wait"],
  });
}

const checkBegun: Check = ({ client_id, device_code, expires_at, interval, server }) => {
  const texts = [client_id, device_code, expires_at];
  const isWhole = texts.every((one) => typeof one === "string") && typeof interval === "number" && isObject(server);
  return isWhole ? undefined : "it must be what svc auth device-login --no-wait wrote";
};

export const removePendingSignIn = (context: Context): Promise<void> => rm(path(context), { force: true });
