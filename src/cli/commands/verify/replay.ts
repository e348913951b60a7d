import { readFile } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { isObject, tryParseJson } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import { createSwitch, createTextFlag, type PositionalSpec } from "../../../derive/command-spec.ts";
import { renderReference } from "../../../derive/reference.ts";
import { deriveSpecs } from "../../../derive/specs.ts";
import { writeFileAtomic } from "../../../files/atomic-write.ts";
import { ignoreMissing } from "../../../files/disk.ts";
import { resolveRealPath } from "../../../files/folders.ts";
import { readCorpus, reindexCorpus, type TrafficCorpus } from "../../../verify/corpus.ts";
import { deriveObservations, type Observations, storeObservations } from "../../../verify/observed/observations.ts";
import { countUndeclared, replayCorpus, replayOnEmulator } from "../../../verify/replay/replay.ts";
import { buildVerifyReport } from "../../../verify/report.ts";
import { scanCorpus } from "../../../verify/scan.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { resolveServiceTarget } from "../../connection/target.ts";
import { checkOutputFile, writeOutput } from "../../output/file.ts";
import { UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import { findCredentialHeaders, throwCorpusError, throwNetworkFailure } from "./recording.ts";
import {
  type ComparedSides,
  formatReplayJUnit,
  formatReplayLines,
  formatReplayMarkdown,
  toReplayDocument,
} from "./replay-reports.ts";

const corpusFolder = { name: "folder", description: "Folder of the corpus" } as const satisfies PositionalSpec;

const verifyReplay = defineCommand({
  words: ["verify", "replay"],
  summary: "Compare the emulator with recorded traffic",
  description:
    "Starts an emulator whose state is created from the corpus, sends the recorded requests again, advances virtual time like the recorded clock, and compares status, fields, types, order, headers, error texts and webhooks. Each claim of the emulator is confirmed, refuted, unseen or not comparable. Exits 3 when a difference is not accepted, and 1 when nothing can be compared. The findings are stored in the corpus for svc emulator start --observed. With --against NAME, only reads are sent to the service of a profile, whose contracts and people differ from those of the recorded one. Statuses, failures, headers, fields, types and enumerations are compared, but not contents.",
  positionals: [corpusFolder],
  flags: [
    createTextFlag(
      "against",
      "emulator|NAME",
      "Compare a fresh emulator with the recording, or the service of this profile",
      { default: "emulator" },
    ),
    {
      flag: "rate",
      type: "number",
      placeholder: "N",
      description: "Maximum requests per second to a service",
      default: 5,
    },
    createTextFlag("accept", "ID", "Accept this difference from now on", { repeatable: true }),
    createTextFlag("reason", "TEXT", "Why it is accepted"),
    createTextFlag("junit", "FILE", "Write a JUnit XML report"),
    createTextFlag("markdown", "FILE", "Write a report for a pull request"),
    createTextFlag("reference", "FILE", "Write the reference with the observations"),
  ],
  examples: [
    ["Write a report in CI", "verify replay corpus --junit verify.xml"],
    [
      "Accept a known difference",
      "verify replay corpus --accept contracts.list:200:limit:value --reason 'fixed in the next release'",
    ],
    ["Check whether the service still matches", "verify replay corpus --against staging"],
  ],
  async run({ positionals, flags }, context) {
    const { host, output, signal } = context;
    const { accept = [], reason, against = "emulator", rate = 5 } = flags;
    const isService = against !== "emulator";
    if (accept.length > 0 && (reason === undefined || reason.trim() === ""))
      throw new UsageError("--reason is required with --accept");
    if (accept.length === 0 && reason !== undefined) throw new UsageError("--accept is required with --reason");
    // These flags are about differences of the emulator, not of a service.
    const excludedFlag = isService
      ? (["reference", "accept"] as const).find((flag) => flags[flag] !== undefined)
      : undefined;
    if (excludedFlag !== undefined) throw new UsageError(`--${excludedFlag} cannot be used with --against ${against}`);
    const folder = resolve(host.cwd, positionals.folder);
    for (const flag of ["junit", "markdown", "reference"] as const)
      await checkReportFile(host, folder, flag, flags[flag]);
    const acceptedReasons = isService ? {} : await readAccepted(folder);
    const corpus = await readCorpus(folder).catch(throwCorpusError("<folder>"));
    const replayedExchanges = isService
      ? await replayProfile(corpus, against, Math.max(0.01, rate), context)
      : await replayOnEmulator(corpus, (await import("../../../../emulator/index.ts")).startEmulator, signal);
    const newReasons = Object.fromEntries(accept.map((id) => [id, reason!]));
    const report = buildVerifyReport(replayedExchanges, { ...acceptedReasons, ...newReasons }, countUndeclared(corpus));
    const unknownId = accept.find((id) => !report.differences.some((difference) => difference.id === id));
    if (unknownId !== undefined) throw new UsageError(`--accept: ${unknownId} is not a difference of this corpus`);
    const allReasons = `${JSON.stringify({ ...acceptedReasons, ...newReasons }, undefined, 2)}\n`;
    if (accept.length > 0) await writeFileAtomic(join(folder, acceptedFileName), allReasons);
    const observations = isService ? undefined : deriveObservations(report, corpus);
    if (observations) await storeObservations(corpus, observations);
    const sides: ComparedSides = isService ? ["recording", against] : ["service", "emulator"];
    const writeReport = async (path: string | undefined, text: () => string | Promise<string>) => {
      if (path !== undefined) await writeOutput(host, path, [Buffer.from(await text())]);
    };
    await writeReport(flags.junit, () => formatReplayJUnit(report, sides));
    await writeReport(flags.markdown, () => formatReplayMarkdown(report, sides));
    if (observations) await writeReport(flags.reference, () => formatObservedReference(observations));
    if (output.isText) await output.print(...formatReplayLines(report, sides));
    else {
      const document = toReplayDocument(report);
      await output.show(document, { fields: Object.keys(document) });
    }
    if (report.drift > 0) return "partial";
    return report.compared === 0 ? "failed" : undefined;
  },
});

/** Checks that a report does not replace a recorded exchange. */
async function checkReportFile(host: Host, folder: string, flag: string, path: string | undefined): Promise<void> {
  if (path === undefined) return;
  await checkOutputFile(host, path, `--${flag}`);
  const [file, corpus] = await Promise.all([resolveRealPath(resolve(host.cwd, path)), resolveRealPath(folder)]);
  if (file.startsWith(corpus + sep))
    throw new UsageError(`--${flag} must not be in the folder of the corpus: ${path}`, {
      hint: "Choose another file.",
    });
}

async function replayProfile(
  corpus: TrafficCorpus,
  profile: string,
  requestsPerSecond: number,
  { globals, host, output, signal }: Context,
) {
  const { baseUrls, credentials } = await resolveServiceTarget({ ...globals, profile }, host, output);
  return replayCorpus(corpus, {
    resolveUrl: (callee) => (callee === "router" ? baseUrls.router : baseUrls.contracts),
    service: { getCredentials: (operation) => findCredentialHeaders(operation, credentials) ?? {}, requestsPerSecond },
    signal,
  }).catch(throwNetworkFailure);
}

async function formatObservedReference({ seen: observations }: Observations): Promise<string> {
  const { registry } = await import("../../../api/registry.ts");
  const commands = Object.values(deriveSpecs()).flat();
  return renderReference({ registry, commands, globalFlags: [], exitCodes: [], observed: observations });
}

const acceptedFileName = "accepted.json";

async function readAccepted(folder: string): Promise<Record<string, string>> {
  const text = await readFile(join(folder, acceptedFileName), "utf8").catch(ignoreMissing);
  const value = tryParseJson(text ?? "{}");
  if (!isObject(value) || Object.values(value).some((reason) => typeof reason !== "string"))
    throw new UsageError(`${join(folder, acceptedFileName)} is not a JSON object of reasons by the IDs of differences`);
  return value as Record<string, string>;
}

const verifyScan = defineCommand({
  words: ["verify", "scan"],
  sendsNothing: true,
  summary: "Find secrets and personal data in a corpus",
  description:
    "Looks for e-mail addresses, names, phone numbers, tokens, keys and files in each exchange of a corpus. Exits 1 if there is a finding. After you have edited, added or removed files by hand, --reindex rewrites the index.",
  positionals: [corpusFolder],
  flags: [createSwitch("reindex", "Rewrite the index after a manual edit")],
  examples: [["Scan the corpus before a commit", "verify scan corpus"]],
  async run({ positionals, flags }, { host, output }) {
    const folder = resolve(host.cwd, positionals.folder);
    try {
      if (flags.reindex) await reindexCorpus(folder);
      const corpus = await readCorpus(folder, { isInterruptedAllowed: true });
      if (!corpus.isEnded)
        await output.warn(`warning: ${positionals.folder} is unfinished: only recordings up to now are included`);
      const findings = scanCorpus(corpus);
      await output.show(findings, {
        fields: ["file", "place", "kind", "shown"],
        columns: ["file", { name: "place", shrinkPriority: 1 }, "kind", "shown"],
        emptyMessage: `Nothing suspicious in ${pluralize(corpus.exchanges.length, "exchange")}`,
      });
      return findings.length > 0 ? "failed" : undefined;
    } catch (cause) {
      return throwCorpusError("<folder>")(cause);
    }
  },
});

export const commands: readonly Command[] = [verifyReplay, verifyScan];
