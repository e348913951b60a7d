import { findNearest } from "../../base/text.ts";
import { groupNames, loadCommands, loadCommandTree, loadDeclarations, loadParser } from "../command-tree/tree.ts";
import { readWindowWidth } from "../output/line-wrapping.ts";
import { locateCommand } from "../parse/argv.ts";
import { UsageError } from "../process/failure.ts";
import type { Host } from "../process/host.ts";
import { layOutPage } from "./layout.ts";
import { buildHelpPage, createAllCommandsPage, createRootPage, findUnknownWords } from "./pages.ts";
import { createTopicPage, helpTopics } from "./topics.ts";

/** Formats a page, or the whole tree as data, if the line requests help, names a group or is empty. */
export async function renderHelp(argv: readonly string[], host: Host): Promise<string> {
  const { words, wantsHelp } = locateCommand(argv);
  const isHelpCommand = words[0] === "help";
  const named = isHelpCommand ? words.slice(1) : words;
  if (isHelpCommand && argv.includes("--json")) {
    const { buildManifest } = await import("./manual.ts");
    return `${JSON.stringify(buildManifest(await loadCommandTree(), host.version), null, 2)}\n`;
  }
  if (isHelpCommand && argv.includes("--man")) {
    const { formatManual } = await import("./manual.ts");
    if (named.length > 0) await requireKnownCommand(named);
    return formatManual(await loadCommandTree(), host.version);
  }
  // If the page can be written at once, the stream stays unopened, and there is no window.
  const out = host.writeAtOnce ? { isTTY: false, columns: undefined } : host.stdout;
  const columns = readWindowWidth(out, host.env) ?? (out.isTTY ? 80 : 100);
  const topic = named.length === 1 ? helpTopics[named[0]!] : undefined;
  if (topic) return layOutPage(await createTopicPage(topic), columns);

  const names = await groupNames();
  const isAll = argv.includes("--all");
  if (isAll && (isHelpCommand || wantsHelp) && named.length < 2 && named.every((name) => names.includes(name))) {
    const shown = named.length === 0 ? names : named;
    const all = shown.map(async (name) => [name, await loadDeclarations(name)] as const);
    return layOutPage(createAllCommandsPage(new Map(await Promise.all(all))), columns);
  }
  if (named.length === 0) {
    if (!isHelpCommand && !wantsHelp) await requireKnownCommand(argv);
    return layOutPage(createRootPage(names), columns);
  }
  // An unknown word is an error, unless it follows a command whose help is requested.
  if (isHelpCommand || !names.includes(named[0]!))
    await requireKnownCommand(named).catch((error: unknown) => addSuggestion(error, named));
  const commands = await loadCommands(named[0]!);
  const unknown = findUnknownWords(named, commands);
  if (unknown) {
    await requireKnownCommand(unknown).catch((error: unknown) => {
      throw error instanceof UsageError ? error.withHint(`See svc ${unknown.slice(0, -1).join(" ")} --help.`) : error;
    });
  }
  return layOutPage(buildHelpPage(named, commands), columns);
}

async function requireKnownCommand(line: readonly string[]): Promise<void> {
  (await loadParser(locateCommand(line).words)).parse(line);
}

function addSuggestion(error: unknown, [word = "", ...more]: readonly string[]): never {
  if (!(error instanceof UsageError)) throw error;
  const nearest = more.length === 0 ? findNearest(word, Object.keys(helpTopics)) : undefined;
  if (nearest !== undefined) throw new UsageError(error.message, { hint: `Did you mean ${nearest}?`, cause: error });
  throw error.withHint(`svc --help lists the commands. Topics: ${Object.keys(helpTopics).join(", ")}.`);
}
