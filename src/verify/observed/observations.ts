import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import type { Activity } from "../../api/activities.ts";
import { webhookPayloads } from "../../api/registry.ts";
import { dictionary } from "../../api/shapes.ts";
import { tryParseJson } from "../../base/object.ts";
import { svcVersion } from "../../base/version.ts";
import { writeFileAtomic } from "../../files/atomic-write.ts";
import { readCorpus, type TrafficCorpus } from "../corpus.ts";
import { type HttpMessage, parseJsonBody } from "../exchange.ts";
import { findOperationById } from "../replay/claims.ts";
import { describeTimeFormat, isIsoTime } from "../replay/compare-text.ts";
import { replayOnEmulator, type StartReplayEmulator } from "../replay/replay.ts";
import { buildVerifyReport, type ReportedDifference, type VerifyReport } from "../report.ts";

/** Change of an emulator response or webhook to match the observed service. */
const ObservedChange = z.discriminatedUnion("to", [
  z.strictObject({ to: z.literal("status"), status: z.int().min(200).max(599) }),
  z.strictObject({ to: z.literal("set"), value: z.unknown() }),
  z.strictObject({ to: z.literal("remove") }),
  z.strictObject({ to: z.literal("convert"), type: z.enum(["string", "number", "boolean", "null"]) }),
  /** Pairs of an emulator value and the corresponding service value. */
  z.strictObject({ to: z.literal("map"), pairs: z.array(z.tuple([z.unknown(), z.unknown()])) }),
  z.strictObject({ to: z.literal("template"), from: z.array(z.string()), text: z.array(z.string()) }),
  z.strictObject({ to: z.literal("order"), keys: z.array(z.string()) }),
  z.strictObject({ to: z.literal("reverse") }),
  z.strictObject({ to: z.literal("header"), value: z.string().optional() }),
  z.strictObject({ to: z.literal("time-format"), format: z.string() }),
  z.strictObject({ to: z.literal("shift"), ms: z.number() }),
  z.strictObject({ to: z.literal("spell"), spelling: z.string() }),
  z.strictObject({ to: z.literal("silence") }),
]);
export type ObservedChange = z.infer<typeof ObservedChange>;

const ObservedRule = z.strictObject({
  id: z.string(),
  /** Name of a claim, such as `contracts.create`, `contracts.send no-signatories` or `webhook CONTRACT_CREATED`. */
  claim: z.string(),
  operation: z.string(),
  path: z.string(),
  change: ObservedChange,
  count: z.int(),
  at: z.string(),
});
export type ObservedRule = Readonly<z.infer<typeof ObservedRule>>;

/** Data derived from a corpus, in the format of the stored file. */
export const Observations = z.strictObject({
  rules: z.array(ObservedRule),
  /** Observations that are not applied, with the reasons. */
  rejected: z.array(z.strictObject({ id: z.string(), reason: z.string() })),
  seen: dictionary(z.strictObject({ count: z.int(), at: z.string(), differs: z.array(z.string()) })),
});
export type Observations = Readonly<z.infer<typeof Observations>>;

/** Derives observations from the results of a replay. */
export function deriveObservations(report: VerifyReport, corpus: TrafficCorpus): Observations {
  const rules: ObservedRule[] = [];
  const rejected: Observations["rejected"] = [];
  const delivered = new Set(
    corpus.exchanges.filter(({ callee }) => callee === "receiver").map(({ operation }) => operation),
  );
  for (const difference of report.differences) {
    const { id, claim, operation, path, count, at } = difference;
    const refusal = findContradiction(difference, corpus);
    const change = refusal === undefined ? deriveChange(difference, delivered) : undefined;
    if (typeof change === "object") rules.push({ id, claim, operation, path, change, count, at });
    else rejected.push({ id, reason: refusal ?? change ?? "it cannot be applied" });
  }
  const seen = report.claims.flatMap(({ claim, verdict, exchanges: count, at }) => {
    if (at === null || (verdict !== "confirmed" && verdict !== "refuted")) return [];
    return [[claim, { count, at, differs: rules.filter((rule) => rule.claim === claim).map(({ id }) => id) }] as const];
  });
  return { rules, rejected, seen: Object.fromEntries(seen) };
}

/** Explains how an observation contradicts the specification. Returns undefined if it does not. */
function findContradiction(
  { kind, path, basis, operation, claim, recorded, file }: ReportedDifference,
  corpus: TrafficCorpus,
): string | undefined {
  if (kind === "retry-time" || kind === "attempts")
    return "it contradicts the specification, which fixes the retry schedule";
  if (basis === "specified" && claim !== operation && ["status", "wording", "absent", "type"].includes(kind))
    return "it contradicts the specification, which shows this failure";
  if (!["status", "absent", "type", "enumeration", "value"].includes(kind)) return undefined;
  const exchange = corpus.exchanges.find((item) => item.file === file);
  if (!exchange) return undefined;
  const findIssues = (schema: z.ZodType | undefined, message: HttpMessage) =>
    schema?.safeParse(parseJsonBody(message)).error?.issues ?? [];
  if (operation.startsWith("webhook ")) {
    const schema = webhookPayloads.get(operation.slice("webhook ".length) as Activity);
    return findIssues(schema, exchange.request).some((issue) => isIssueAt(issue, path))
      ? `it contradicts the specification of the payload at ${path}`
      : undefined;
  }
  const declared = findOperationById(operation)?.responses[exchange.response.status];
  if (basis !== "specified") return undefined;
  if (kind === "status")
    return `it contradicts the specification, in which ${operation} does not return ${String(recorded)}`;
  const schema = declared && "schema" in declared ? declared.schema : undefined;
  return findIssues(schema, exchange.response).some((issue) => isIssueAt(issue, path))
    ? `it contradicts the specification of ${operation} at ${path}`
    : undefined;
}

const isIssueAt = (issue: { readonly code: string; readonly path: readonly PropertyKey[] }, path: string): boolean =>
  issue.code !== "unrecognized_keys" &&
  issue.path
    .map((key) => (typeof key === "number" ? "[]" : String(key)))
    .join(".")
    .replaceAll(".[]", "[]") === path;

/** Returns the change, or the reason why no change is possible. */
function deriveChange(
  difference: ReportedDifference,
  delivered: ReadonlySet<string | undefined>,
): ObservedChange | string {
  const { kind, path, pairs } = difference;
  const [first] = pairs;
  const recorded = pairs.map((pair) => pair.recorded);
  const isConstant = new Set(recorded.map((item) => JSON.stringify(item))).size === 1;
  switch (kind) {
    case "status":
      return isConstant ? { to: "status", status: Number(first!.recorded) } : "the status varies";
    case "absent":
      return { to: "remove" };
    case "added":
      return isConstant ? { to: "set", value: first!.recorded } : "its value varies";
    case "type":
      return deriveConversion(recorded, isConstant, path);
    case "enumeration":
    case "value":
      return deriveMap(pairs);
    case "wording":
      return pairs.length === 1 || isConstant
        ? deriveTemplate(String(first!.replayed), String(first!.recorded))
        : deriveMap(pairs);
    case "order":
      return Array.isArray(first!.recorded)
        ? { to: "order", keys: first!.recorded.map(String) }
        : "its order is unknown";
    case "item-order":
      return deriveItemOrder(pairs);
    case "header":
      return isConstant ? { to: "header", value: first!.recorded as string | undefined } : "the header varies";
    case "time-format":
      return { to: "time-format", format: describeTimeFormat(String(first!.recorded)) };
    case "time":
      return deriveShift(pairs);
    case "spelling":
      return { to: "spell", spelling: String(first!.recorded) };
    case "missing-activity":
      return delivered.has(path) ? "the activity was observed at other times" : { to: "silence" };
    default:
      return "the emulator cannot be configured to do so";
  }
}

type ValuePairs = ReportedDifference["pairs"];

function deriveConversion(recorded: readonly unknown[], isConstant: boolean, path: string): ObservedChange | string {
  if (path === "") return "the whole body differs";
  const types = new Set(recorded.map((item) => (item === null ? "null" : typeof item)));
  const [type] = types;
  if (types.size > 1) return "its type varies";
  if (type === "null" || type === "string" || type === "number" || type === "boolean") return { to: "convert", type };
  return isConstant ? { to: "set", value: recorded[0] } : "its value varies";
}

function deriveMap(pairs: ValuePairs): ObservedChange | string {
  const map = new Map<string, [unknown, unknown]>();
  for (const { recorded, replayed } of pairs) {
    const key = JSON.stringify(replayed);
    const known = map.get(key);
    if (known && JSON.stringify(known[1]) !== JSON.stringify(recorded)) return "its value varies";
    map.set(key, [replayed, recorded]);
  }
  return { to: "map", pairs: [...map.values()] };
}

/** Values that errors quote, in the same order in both strings. */
const quotedValuePattern = /"[^"]*"|'[^']*'|\b[A-Z]{1,5}-\d+\b|\d+|\bqx[a-x]{7}\b/gi;

function deriveTemplate(from: string, to: string): ObservedChange {
  const [was, is] = [from.match(quotedValuePattern) ?? [], to.match(quotedValuePattern) ?? []];
  if (was.length !== is.length) return { to: "map", pairs: [[from, to]] };
  return { to: "template", from: from.split(quotedValuePattern), text: to.split(quotedValuePattern) };
}

function deriveItemOrder(pairs: ValuePairs): ObservedChange | string {
  const isReversed = pairs.every((pair) => {
    const [was, is] = [pair.recorded, pair.replayed];
    return (
      Array.isArray(was) &&
      Array.isArray(is) &&
      JSON.stringify(was.map(String)) === JSON.stringify(is.map(String).reverse())
    );
  });
  return isReversed ? { to: "reverse" } : "its order follows no known rule";
}

function deriveShift(pairs: ValuePairs): ObservedChange | string {
  const gaps = pairs.map(({ recorded, replayed }) =>
    typeof recorded === "number"
      ? recorded - Number(replayed)
      : isIsoTime(String(recorded))
        ? Date.parse(String(recorded)) - Date.parse(String(replayed))
        : Number.NaN,
  );
  const middle = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)]!;
  if (gaps.some((item) => !(Math.abs(item - middle) <= 5_000))) return "it varies";
  return { to: "shift", ms: typeof pairs[0]!.recorded === "number" ? middle : Math.round(middle / 1_000) * 1_000 };
}

/** Name of the file with the observations that a replay derived from a corpus. */
const observationsFileName = "observations.json";
/** The differences depend on the version of svc. */
const StoredObservations = Observations.extend({ svc: z.literal(svcVersion), corpus: z.string() });

/** Reads the stored observations of a corpus, or replays the corpus if they are missing or outdated. */
export async function loadObservations(
  folder: string,
  startEmulator: StartReplayEmulator,
  signal?: AbortSignal,
): Promise<Observations> {
  const corpus = await readCorpus(folder);
  const text = await readFile(join(folder, observationsFileName), "utf8").catch(() => "");
  const stored = StoredObservations.safeParse(tryParseJson(text)).data;
  if (stored?.corpus === corpus.digest) return stored;
  return deriveObservations(buildVerifyReport(await replayOnEmulator(corpus, startEmulator, signal), {}), corpus);
}

export const storeObservations = ({ folder, digest }: TrafficCorpus, observations: Observations): Promise<void> =>
  writeFileAtomic(
    join(folder, observationsFileName),
    `${JSON.stringify({ svc: svcVersion, corpus: digest, ...observations }, undefined, 2)}\n`,
  );
