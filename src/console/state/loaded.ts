import { effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Problem } from "../api/problem.ts";
import { type Topic, versionOf } from "./topics.ts";

export interface Loaded<Value> {
  /** Undefined until the first answer. */
  readonly value: ReadonlySignal<Value | undefined>;
  readonly problem: ReadonlySignal<Problem | undefined>;
  again(): void;
}

/**
 * What a call answers, read again whenever one of the topics changes. What was read last stays while it is read again;
 * `key` says when it is about something else.
 */
export function useLoaded<Value>(key: string, about: readonly Topic[], load: () => Promise<Value>): Loaded<Value> {
  const source = useMemo(() => createSource(about, load), [key]);
  useEffect(() => source.begin(), [source]);
  return source;
}

function createSource<Value>(about: readonly Topic[], load: () => Promise<Value>) {
  const value: Signal<Value | undefined> = signal(undefined);
  const problem: Signal<Problem | undefined> = signal(undefined);
  let isUnderWay = false;
  let isStale = false;
  let isEnded = false;

  async function read(): Promise<void> {
    if (isUnderWay) {
      isStale = true;
      return;
    }
    isUnderWay = true;
    do {
      isStale = false;
      try {
        const found = await load();
        if (isEnded) return;
        value.value = found;
        problem.value = undefined;
      } catch (error) {
        // What was read last stays while nothing answers, which the foot of the page says.
        if (value.value === undefined || !(error as Problem).isUnreachable) problem.value = error as Problem;
      }
    } while (isStale && !isEnded);
    isUnderWay = false;
  }

  return {
    value,
    problem,
    again: () => void read(),
    begin: () => {
      isEnded = false;
      const stop = effect(() => {
        for (const topic of about) versionOf(topic).value;
        void read();
      });
      return () => {
        isEnded = true;
        stop();
      };
    },
  };
}
