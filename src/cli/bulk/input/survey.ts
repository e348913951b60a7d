import type { InvalidRow } from "./batches.ts";
import { type Fingerprint, FingerprintedBytes } from "./bytes.ts";
import { IdentifierCounter } from "./distinct.ts";
import type { IdentifierKind } from "./identifiers.ts";
import { type RowReadOptions, readRows } from "./rows.ts";
import { isInShare, type Shard } from "./shard.ts";

/** What one look through an input tells before anything is sent. */
export interface Survey extends Fingerprint {
  /** Rows that are not empty, of this share. */
  readonly rows: number;
  /** The same of all shares. */
  readonly all: number;
  /** Different identifiers among those that are valid; null where they could not be counted. */
  readonly distinct: number | null;
  /** Calls that are made for them. */
  readonly calls: number;
  readonly invalid: number;
  readonly firstInvalid: InvalidRow | undefined;
  /** Texts of the first rows. */
  readonly sample: readonly string[];
}

const sampleRows = 3;

interface SurveyOptions {
  readonly kind: IdentifierKind;
  readonly batchSize: number;
  readonly shard: Shard | null;
  readonly onInvalid: (row: InvalidRow) => void;
  readonly signal: AbortSignal;
}

/** Reads the whole input once: its identity, and every row that is no identifier. */
export async function surveySource(
  source: AsyncIterable<Uint8Array>,
  reading: RowReadOptions,
  { kind, batchSize, shard, onInvalid, signal }: SurveyOptions,
): Promise<Survey> {
  const bytes = new FingerprintedBytes(source);
  const groups = readRows(bytes, reading);
  const sample: string[] = [];
  let all = 0;
  let ordinal = 0;
  const distinct = new IdentifierCounter(kind);
  let calls = 0;
  let inBatch = 0;
  let isCall = false;
  const endBatch = () => {
    if (isCall) calls += 1;
    inBatch = 0;
    isCall = false;
  };
  let rows = 0;
  let invalid = 0;
  let firstInvalid: InvalidRow | undefined;
  for await (const { first, texts, problems, empty } of groups) {
    signal.throwIfAborted();
    for (let i = 0; i < texts.length; i += 1) {
      const text = texts[i]!;
      if (text === "") continue;
      all += 1;
      if (!empty?.has(i)) ordinal += 1;
      if (shard && !isInShare(ordinal, shard)) continue;
      rows += 1;
      const problem = problems?.get(i) ?? kind.problem(text);
      if (problem !== undefined) {
        const row = { number: first + i, text, problem };
        invalid += 1;
        firstInvalid ??= row;
        onInvalid(row);
      } else {
        isCall = true;
        distinct.add(text);
        if (sample.length < sampleRows) sample.push(text);
      }
      if (!empty?.has(i)) inBatch += 1;
      if (inBatch === batchSize) endBatch();
    }
  }
  endBatch();
  return { ...bytes.fingerprint(), all, rows, distinct: distinct.count, calls, invalid, firstInvalid, sample };
}

/** Its identity alone. */
export async function fingerprintSource(source: AsyncIterable<Uint8Array>): Promise<Fingerprint> {
  const bytes = new FingerprintedBytes(source);
  for await (const _ of bytes);
  return bytes.fingerprint();
}
