import { resolve } from "node:path";
import { pluralize } from "../../../base/text.ts";
import type { PositionalSpec } from "../../../derive/command-spec.ts";
import { readCorpus, reindexCorpus } from "../../../verify/corpus.ts";
import { scanCorpus } from "../../../verify/scan.ts";
import { type Command, defineCommand } from "../../command.ts";
import { toUsageError } from "./open-recorder.ts";

export const corpusFolder = { name: "folder", description: "Folder of the corpus" } as const satisfies PositionalSpec;

const verifyScan = defineCommand({
  words: ["verify", "scan"],
  sendsNothing: true,
  summary: "Find secrets and personal data in a corpus",
  description:
    "Looks for e-mail addresses, names, phone numbers, tokens, keys and files in each exchange of a corpus. Exits 1 when something is found. After you have edited, added or removed files by hand, --reindex writes the index and the lengths of bodies again.",
  positionals: [corpusFolder],
  flags: [{ flag: "reindex", type: "switch", description: "Write the index again, after an edit by hand" }],
  examples: [{ title: "Before a commit", argv: ["verify", "scan", "corpus"] }],
  async run({ positionals, flags }, { host, output }) {
    const folder = resolve(host.cwd, positionals.folder);
    try {
      if (flags.reindex) await reindexCorpus(folder);
      const corpus = await readCorpus(folder, { isInterruptedAllowed: true });
      if (!corpus.isEnded)
        await output.warn(`warning: ${positionals.folder} is unfinished: only recordings up to now are included`);
      const found = scanCorpus(corpus);
      await output.show(found, {
        fields: ["file", "place", "kind", "shown"],
        columns: ["file", { name: "place", cut: 1 }, "kind", "shown"],
        emptyMessage: `Nothing suspicious in ${pluralize(corpus.exchanges.length, "exchange")}`,
      });
      return found.length > 0 ? "failed" : undefined;
    } catch (cause) {
      throw toUsageError(cause, "<folder>");
    }
  },
});

export const commands: readonly Command[] = [verifyScan];
