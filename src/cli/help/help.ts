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
  const requestedWords = isHelpCommand ? words.slice(1) : words;
  if (isHelpCommand && argv.includes("--json")) {
    const { buildManifest } = await import("./manual.ts");
    return `${JSON.stringify(buildManifest(await loadCommandTree(), host.version), null, 2)}\n`;
  }
  if (isHelpCommand && argv.includes("--man")) {
    const { formatManual } = await import("./manual.ts");
    if (requestedWords.length > 0) await requireKnownCommand(requestedWords);
    return formatManual(await loadCommandTree(), host.version);
  }
  // If the page can be written at once, the stream stays unopened, and there is no window.
  const stream = host.writeAtOnce ? { isTTY: false, columns: undefined } : host.stdout;
  const columns = readWindowWidth(stream, host.env) ?? (stream.isTTY ? 80 : 100);
  const topic = requestedWords.length === 1 ? helpTopics[requestedWords[0]!] : undefined;
  if (topic) return layOutPage(await createTopicPage(topic), columns);

  const names = await groupNames();
  const isAll = argv.includes("--all");
  if (
    isAll &&
    (isHelpCommand || wantsHelp) &&
    requestedWords.length < 2 &&
    requestedWords.every((name) => names.includes(name))
  ) {
    const topics = requestedWords.length === 0 ? names : requestedWords;
    const all = topics.map(async (name) => [name, await loadDeclarations(name)] as const);
    return layOutPage(createAllCommandsPage(new Map(await Promise.all(all))), columns);
  }
  if (requestedWords.length === 0) {
    if (!isHelpCommand && !wantsHelp) await requireKnownCommand(argv);
    return layOutPage(createRootPage(names), columns);
  }
  // An unknown word is an error, unless it follows a command whose help is requested.
  if (isHelpCommand || !names.includes(requestedWords[0]!))
    await requireKnownCommand(requestedWords).catch((error: unknown) => addSuggestion(error, requestedWords));
  const commands = await loadCommands(requestedWords[0]!);
  const unknownWords = findUnknownWords(requestedWords, commands);
  if (unknownWords) {
    await requireKnownCommand(unknownWords).catch((error: unknown) => {
      throw error instanceof UsageError
        ? error.withHint(`See svc ${unknownWords.slice(0, -1).join(" ")} --help.`)
        : error;
    });
  }
  return layOutPage(buildHelpPage(requestedWords, commands), columns);
}

async function requireKnownCommand(line: readonly string[]): Promise<void> {
  (await loadParser(locateCommand(line).words)).parse(line);
}

function addSuggestion(error: unknown, [word = "", ...furtherWords]: readonly string[]): never {
  if (!(error instanceof UsageError)) throw error;
  const nearest = furtherWords.length === 0 ? findNearest(word, Object.keys(helpTopics)) : undefined;
  if (nearest !== undefined) throw new UsageError(error.message, { hint: `Did you mean ${nearest}?`, cause: error });
  throw error.withHint(`svc --help lists the commands. Topics: ${Object.keys(helpTopics).join(", ")}.`);
}
