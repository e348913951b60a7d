import { activities } from "../api/activities.ts";
import type { Failure } from "../api/failure.ts";
import { failures } from "../api/failures.ts";
import { registry, schemaNames, webhookPayloads } from "../api/registry.ts";
import { buildSample } from "../derive/openapi/operations.ts";
import { buildOpenApi } from "../derive/openapi.ts";

/** Words of the declarations. They identify neither a person nor a company. */
export interface Vocabulary {
  /** Values of enumerations in their original spelling. */
  readonly values: ReadonlySet<string>;
  /** Words of field names, error strings and summaries, in lower case. */
  readonly words: ReadonlySet<string>;
  /** Literal segments of declared paths. */
  readonly segments: ReadonlySet<string>;
}

/** Words of validation errors and of common framework error pages. */
const errorWords =
  "a about above access account action after again all allowed already an and any are as at available bad be been before " +
  "below between blank but by call can cannot character characters check choice closed could database date datetime day days " +
  "declared decode denied details did disabled do does done double duplicate each either email empty encountered ended enough " +
  "ensure enter error errors exactly exceeded exist exists expected expired expecting extra failed failure few field fields file " +
  "files float following for forbidden format found from gateway given greater has have header high hour hours https http id if in " +
  "incorrect inner input instead integer internal into invalid is it items json key kind large least length less limit line list " +
  "locked long longer malformed many match matched max maximum may media message method minimum minute minutes missing more most " +
  "must name near needed no non none not nothing null number object of off ok old on once one only open or other out over " +
  "page parameter parse parsing pattern payload permission permitted please present property provided providing query quotes range read " +
  "reason received refused rejected request required resource retry same second seconds server service session short should " +
  "side signed size some something sorry start state status still string submitted such supported syntax than that the their " +
  "then there this time timeout to token too try type unable unauthorized unavailable unexpected unique unknown unprocessable " +
  "unsupported until upload url use used user using valid validation value values was we were when where which while who will with within " +
  "without wrong yet you your zero content-type bearer basic oauth true false yes";

const wordPattern = /\p{L}+/gu;
let cachedVocabulary: Vocabulary | undefined;

/** Returns the vocabulary, which is read from the declarations once. */
export const getVocabulary = (): Vocabulary => (cachedVocabulary ??= readVocabulary());

function readVocabulary(): Vocabulary {
  const values = new Set<string>(activities);
  const texts: string[] = [errorWords];
  const walk = (node: unknown): void => {
    if (Array.isArray(node)) for (const item of node) walk(item);
    if (Array.isArray(node) || typeof node !== "object" || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      if (key === "examples" || key === "example" || key === "description") continue;
      if (key === "enum" || key === "const")
        for (const item of [value].flat()) if (typeof item === "string") values.add(item);
      if (key === "properties") texts.push(...Object.keys(value as object));
      walk(value);
    }
  };
  for (const name of ["router", "contracts"] as const)
    walk(buildOpenApi(name, { registry, schemaNames, webhookPayloads }));
  for (const failure of Object.values(failures) as Failure<unknown>[]) {
    texts.push(failure.when, JSON.stringify(buildSample(failure)));
  }
  for (const { summary } of registry) texts.push(summary);
  const words = texts.join(" ").toLowerCase().replaceAll("_", " ").match(wordPattern) ?? [];
  const segments = registry.flatMap(({ path }) => path.split("/").filter((item) => !item.includes("{")));
  return { values, words: new Set(words), segments: new Set(segments) };
}
