import { UsageError } from "../../failure.ts";
import type { RowGroup } from "./row-group.ts";

/** One of several runs that share an input. */
export interface Shard {
  /** From 1. */
  readonly index: number;
  readonly of: number;
}

/** `3/16`; a usage error otherwise. */
export function parseShard(text: string): Shard {
  const [index, of] = /^(\d+)\/(\d+)$/.exec(text)?.slice(1).map(Number) ?? [];
  if (!index || !of || index > of) throw new UsageError(`--shard must be a share (3/16), got "${text}"`);
  return { index, of };
}

/** Whether a row is in the share; `ordinal` counts those with a text, from 1: one without goes with the one before. */
export const isInShare = (ordinal: number, { index, of }: Shard): boolean => (ordinal - index) % of === 0;

/**
 * Every `of`-th row, from the `index`-th on; the others become rows that are passed over. By rows and not by batches,
 * so that runs with different batch sizes still cover every row once.
 */
export async function* selectShare(groups: AsyncIterable<RowGroup>, shard: Shard): AsyncGenerator<RowGroup> {
  let ordinal = 0;
  for await (const group of groups) {
    const texts = group.texts.map((text, i) => {
      if (text === "") return "";
      if (!group.empty?.has(i)) ordinal += 1;
      return isInShare(ordinal, shard) ? text : "";
    });
    yield { ...group, texts };
  }
}
