import { resolve } from "node:path";
import type { EmulatorOptions } from "../../../../emulator/index.ts";
import { strictChecks } from "../../../api/control-plane.ts";
import { omitUndefined } from "../../../base/object.ts";
import { type createEmulatorFlags, emulatorOptions, type OptionDeclaration } from "../../../derive/emulator-options.ts";
import { listOptionalSchemes } from "../../../schemes/webhook-schemes.ts";
import { resolveSnapshotFile } from "../../connection/emulator/snapshot-names.ts";
import { readVariable } from "../../connection/resolve-settings.ts";
import { isSeedFile, readSeedDocument } from "../../parse/body.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { parseBaseUrlFlag, parseDurationFlag, parseSizeFlag, parseTimeFlag } from "../../parse/globals.ts";
import { UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";

type EmulatorInput = CommandInputOf<ReturnType<typeof createEmulatorFlags>>;

type Values = { readonly [Name in keyof EmulatorOptions]: EmulatorOptions[Name] | undefined };

/** Converts flags and rarely used environment variables to options. Paths are relative to the working folder. */
export async function readEmulatorOptions({ flags }: EmulatorInput, host: Host): Promise<EmulatorOptions> {
  const { from, strict, "webhook-headers": headers, "clock-start": start } = flags;
  const clock = { mode: flags.clock, speed: parseSpeed(flags["clock-speed"]), start };
  if (start !== undefined) parseTimeFlag(start, "--clock-start");
  const schemes = listOptionalSchemes().map(({ name }) => name);
  const values = {
    ...readPlainOptions(flags, host),
    port: flags.port ?? (from === undefined ? undefined : 0),
    ...parsePublicUrls(flags["public-url"] ?? []),
    from: from === undefined ? undefined : await resolveSnapshotFile(from, host),
    ephemeral: isStateless(flags) || undefined,
    seed: isSeedFile(flags.seed) ? await readSeedDocument(host, flags.seed) : flags.seed,
    clock: omitUndefined(clock),
    strict: strict === true || strict === "" ? strictChecks : strict?.split(","),
    webhookSchemes: headers && schemes.filter((name) => headers.includes(name)),
    traceWebhooks: headers?.includes("trace"),
  } satisfies Values;
  return omitUndefined(values) as EmulatorOptions;
}

/** Converts options with a flag or a variable. `readEmulatorOptions` replaces those with other rules. */
const readPlainOptions = (flags: EmulatorInput["flags"], host: Host): Values =>
  Object.fromEntries(
    Object.entries<OptionDeclaration>(emulatorOptions).map(([name, { flag, variable, text }]) => {
      const value = flag
        ? flags[flag.flag as keyof EmulatorInput["flags"]]
        : variable && readVariable(host, variable)?.value;
      const origin = flag ? `--${flag.flag}` : variable!;
      return [name, typeof value === "string" ? convertText(text, value, origin, host) : value];
    }),
  );

function convertText(kind: OptionDeclaration["text"], text: string, origin: string, { cwd }: Host): unknown {
  switch (kind) {
    case "path":
      return resolve(cwd, text);
    case "duration":
      return parseDurationFlag(text, origin);
    case "size":
      return text === "0" ? 0 : parseSizeFlag(text, origin);
    case "list":
      return text.split(",").map((word) => word.trim());
    case "number":
      if (/^\d+$/.test(text)) return Number(text);
      throw new UsageError(`${origin} must be at least 0, got "${text}"`);
    case undefined:
      return text;
  }
}

/** Parses `https://sandbox.example` for the router and `eu-1=https://eu-1.sandbox.example` for a cluster. */
function parsePublicUrls(urls: readonly string[]) {
  const matches = urls.map((text) => /^(?:([\w.-]+)=)?(.*)$/s.exec(text) as unknown as [string, string?, string?]);
  const routerUrls = matches.filter(([, cluster]) => cluster === undefined);
  if (routerUrls.length > 1)
    throw new UsageError("--public-url must name the cluster of each further address (CLUSTER=URL)");
  const [publicUrl] = routerUrls.map(([, , text = ""]) => parseBaseUrlFlag(text, "--public-url"));
  const clusterUrls = matches.flatMap(([, cluster, text = ""]) =>
    cluster === undefined ? [] : [[cluster, parseBaseUrlFlag(text, `--public-url ${cluster}`)] as const],
  );
  return { publicUrl, clusterUrls: clusterUrls.length > 0 ? Object.fromEntries(clusterUrls) : undefined };
}

/** A copy has no state to continue with, so it is stored only if a new file is named. */
export const isStateless = ({ ephemeral, from, file }: Partial<EmulatorInput["flags"]>): boolean =>
  ephemeral === true || (from !== undefined && file === undefined);

function parseSpeed(speed: number | undefined): number | undefined {
  if (speed === undefined || speed > 0) return speed;
  throw new UsageError(`--clock-speed must be a number above 0, got "${speed}"`, {
    hint: "For example, 60 runs an hour in a minute. To stop the clock, use --clock manual.",
  });
}
