import { createHash } from "node:crypto";
import type { SourceFile } from "./repository.ts";

/**
 * Vendor names, hashed so that this list is not the one place that spells them. chat_a, chat_b, crm_a, crm_b,
 * billing and mailer stand for them.
 */
const vendors = new Set([
  "877c3aec832cd410",
  "91b6da07adf530f8",
  "3ccbd9105a45d8fc",
  "b3e9dea15253218f",
  "40a9f85ef6a367ca",
  "b840b69868044153",
  "9fbf261b62c1d7c0",
  "40462d05ebdabe76",
  "29a3406226755842",
  "50b0085e2e91f6c6",
  "24415532349ddf70",
  "e473f24d4325d51a",
  "5077841ff0064e12",
  "18374857989c1c58",
  "74be864f095bb249",
  "0285f5881b359cf7",
  "2ec64195313ea71c",
]);

const isVendor = (word: string): boolean => vendors.has(createHash("sha256").update(word).digest("hex").slice(0, 16));

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[a-z]+/g) ?? [];

/** Every vendor name in a path or a text. Imports of third-party clients, which tests need, are passed over. */
export const vendorWords = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) =>
    [path, ...text.replace(/(?:from|import\(|import)\s*["'][^"'.][^"']*["']/g, "").split("\n")].flatMap((line, at) =>
      wordsOf(line)
        .filter(isVendor)
        .map((word) => `${path}${at === 0 ? "" : `:${at}`} says ${word}`),
    ),
  );

/** Words of a dialect of its own, for which the field has others: see what stands beside each. */
const retired: Readonly<Record<string, string>> = {
  Happening: "Occurrence",
  Deed: "action",
  deed: "action",
  Misfits: "conflicts",
  misfits: "conflicts",
  HalfDone: "PartialFailure",
  Home: "a world, W",
  Pull: "TransitionOptions",
  Recording: "Commit",
  answerTo: "serve",
};

/** Every word that is not to come back, with the one to take instead. */
export const retiredWords = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) =>
    [...new Set(text.match(/[A-Za-z]+/g))]
      .filter((word) => Object.hasOwn(retired, word))
      .map((word) => `${path} says ${word} for ${retired[word]}`),
  );

const machine = [
  { what: "a machine path", pattern: /(?:^|["'\s(])\/(?:home|Users|root|work)\/[\w.-]+/ },
  { what: "a registry host", pattern: /https?:\/\/(?:[\w-]+\.)*(?:npmjs\.(?:org|com)|yarnpkg\.com|jfrog\.io)\b/ },
  { what: "an unfinished thought", pattern: /\b(?:TODO|FIXME|XXX|HACK)\b/ },
];

/** What belongs to one machine or one afternoon. */
export const strayMarks = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, at) =>
        machine.filter(({ pattern }) => pattern.test(line)).map(({ what }) => `${path}:${at + 1} holds ${what}`),
      ),
  );
