import { rm } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../../base/object.ts";
import type { Context } from "../command.ts";
import { configFolder } from "../config/folders.ts";
import { type Check, readPrivate } from "../config/private-file.ts";
import { changePrivate } from "../config/private-file-change.ts";
import { CommandFailed } from "../failure.ts";
import type { AuthServer } from "./server.ts";

/** A sign-in that was begun and not waited for. It holds the device's secret: the file is its owner's alone. */
export interface BegunSignIn {
  readonly client_id: string;
  readonly device_code: string;
  readonly interval: number;
  /** ISO 8601, on the wall clock. */
  readonly expires_at: string;
  readonly server: AuthServer;
}

const path = ({ host: { env } }: Pick<Context, "host">): string => join(configFolder(env), "device-login.json");

/** Keeps it in the place of an earlier one. */
export async function keepBegun(begun: BegunSignIn, context: Context): Promise<void> {
  await changePrivate<BegunSignIn>(
    path(context),
    () => undefined,
    context.host,
    context.signal,
    () => begun,
  );
}

export async function readBegun(context: Context): Promise<BegunSignIn> {
  const begun = await readPrivate<BegunSignIn>(path(context), checkBegun);
  if (begun) return begun;
  throw new CommandFailed("usage", "nothing_begun", "No sign-in was begun with --no-wait.", {
    next: ["auth", "device-login", "--no-wait"],
  });
}

const checkBegun: Check = ({ client_id, device_code, expires_at, interval, server }) => {
  const texts = [client_id, device_code, expires_at];
  const isWhole = texts.every((one) => typeof one === "string") && typeof interval === "number" && isObject(server);
  return isWhole ? undefined : "it must be what svc auth device-login --no-wait wrote";
};

export const forgetBegun = (context: Context): Promise<void> => rm(path(context), { force: true });
