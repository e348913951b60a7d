import { stringifyExact } from "../../base/json.ts";
import { type Host, write } from "../process/host.ts";
import { redactSentSecrets } from "../process/redact.ts";
import {
  escapeControlCharacters,
  escapeJson,
  escapeMultilineText,
  neutralizeCommands,
  neutralizeJsonCommands,
} from "./control-characters.ts";
import { hasColour, readWindowWidth, type StyledLine, type StyledPiece, type StyleName, wrapLine } from "./styled.ts";
import { formatCsvLine, formatSafeCsvLine, formatTsvLine } from "./table.ts";

type StreamName = "stdout" | "stderr";

/** Formats of printed rows. With `csv-safe`, no cell is a formula. */
const rowLines = { csv: formatCsvLine, "csv-safe": formatSafeCsvLine, tsv: formatTsvLine } as const;

/** Prints a help page, in which line breaks and tabs are intended. */
export function printPage({ stdout, env }: Host, page: string): Promise<void> {
  const text = escapeMultilineText(page);
  return write(stdout, runnerParsesOutput(env) ? neutralizeCommands(text) : text);
}

/**
 * Creates the printer for all output. Most content comes from services, receivers, files and users. It must not control
 * the terminal, begin a new line, or give commands to a runner that reads the log.
 */
export function createPrinter(host: Host, color: boolean | undefined) {
  const isRunner = runnerParsesOutput(host.env);
  const neutralize = (text: string) => (isRunner ? neutralizeCommands(text) : text);

  const choosePaint = async (name: StreamName, lines: readonly StyledLine[]): Promise<Paint | undefined> => {
    const isStyled = lines.some((line) => typeof line !== "string" && line.some((piece) => typeof piece !== "string"));
    // svc decides whether to use color, so chalk does not detect it.
    return isStyled && hasColour(host[name], color, host.env)
      ? new (await import("chalk")).Chalk({ level: 1 })
      : undefined;
  };

  /** Standard output contains the requested data, which can be a secret. Standard error must not contain secrets. */
  const toShown = (name: StreamName, text: string): string =>
    escapeControlCharacters(name === "stderr" ? redactSentSecrets(host, text) : text);

  const formatLine = (name: StreamName, line: StyledLine, paint: Paint | undefined, columns: number): string => {
    const pieces = [line].flat().map((piece): StyledPiece => {
      if (typeof piece === "string") return { text: toShown(name, piece), paint: (text) => text };
      return { text: toShown(name, piece.text), paint: paint ? paint[piece.style] : (text) => text };
    });
    // The pieces are escaped together, because two of them can form one command.
    return `${neutralize(wrapLine(pieces, columns))}\n`;
  };

  let hasStatus = false;
  /** Clears the status line before other output. The terminal may have echoed Ctrl-C there. */
  const writeStream: typeof write = (stream, text) => {
    if (hasStatus && stream.isTTY) {
      hasStatus = false;
      void write(host.stderr, clearLine);
    }
    return write(stream, text);
  };

  return {
    /** Styles are added after all text is escaped. Lines wrap between words, except `laidOut` rows of a table. */
    async printLines(
      name: StreamName,
      lines: readonly StyledLine[],
      { laidOut = false }: { readonly laidOut?: boolean } = {},
    ): Promise<void> {
      const paint = await choosePaint(name, lines);
      const { isTTY } = host[name];
      const columns = readWindowWidth(host[name], host.env);
      const window = isTTY && columns && !laidOut ? columns : Number.POSITIVE_INFINITY;
      await writeStream(host[name], lines.map((line) => formatLine(name, line, paint, window)).join(""));
    },
    printJson(name: StreamName, value: unknown, indent?: number): Promise<void> {
      const document = stringifyExact(value ?? null, indent);
      const json = escapeJson(name === "stderr" ? redactSentSecrets(host, document) : document);
      return writeStream(host[name], `${isRunner ? neutralizeJsonCommands(json) : json}\n`);
    },
    async printRows(rows: readonly (readonly string[])[], format: keyof typeof rowLines): Promise<void> {
      const { stdout } = host;
      const line = rowLines[format];
      const lines = rows.map((row) => line(stdout.isTTY ? row.map(escapeControlCharacters) : row));
      const text = lines.join("");
      await writeStream(stdout, format === "tsv" || stdout.isTTY ? neutralize(text) : text);
    },
    /** On a terminal, and for text in a runner's log, control sequences and commands are escaped. */
    async printContent(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, isText = false): Promise<void> {
      const { stdout } = host;
      if (!stdout.isTTY && !(isRunner && isText)) {
        for await (const piece of pieces) await writeStream(stdout, piece);
        return;
      }
      let isWholeLine = true;
      for await (const text of readTextLines(pieces)) {
        await writeStream(stdout, stdout.isTTY ? neutralize(escapeMultilineText(text)) : neutralizeJsonCommands(text));
        isWholeLine = text.endsWith("\n");
      }
      if (stdout.isTTY && !isWholeLine) await writeStream(stdout, "\n");
    },
    async showStatus(text: string | undefined): Promise<void> {
      const { stderr } = host;
      if (!canShowStatusLine(stderr)) return;
      const line = neutralize(escapeControlCharacters(text ?? ""));
      // A wrapped line could not be rewritten.
      const status = line.slice(0, (stderr.columns ?? 80) - 1);
      if (status === "" && !hasStatus) return;
      hasStatus = status !== "";
      await write(stderr, `${clearLine}${status}`);
    },
  };
}

/** Longer lines are forwarded in parts, to limit memory. */
const maxLineLength = 64 * 1024;

/** Yields the text of a byte stream, cut after line breaks. Splits only very long lines. */
async function* readTextLines(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let rest = "";
  for await (const piece of pieces) {
    rest += decoder.decode(piece, { stream: true });
    const end = rest.lastIndexOf("\n") + 1;
    // The last characters can begin a sequence, such as a command or an emoji.
    const chunkEnd = end > 0 ? end : rest.length > maxLineLength ? rest.length - 16 : 0;
    if (chunkEnd === 0) continue;
    yield rest.slice(0, chunkEnd);
    rest = rest.slice(chunkEnd);
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}

type Paint = Readonly<Record<StyleName, (text: string) => string>>;

/** Reports whether a status line can be shown. Some terminals report 0 columns. */
export const canShowStatusLine = (stream: Host["stderr"]): boolean => stream.isTTY === true && stream.columns !== 0;

const clearLine = "\r\x1b[K";

/** GitHub Actions, Azure Pipelines, TeamCity and compatible runners execute some lines of the output. */
const runnerParsesOutput = ({ GITHUB_ACTIONS, TF_BUILD, TEAMCITY_VERSION }: Host["env"]): boolean =>
  GITHUB_ACTIONS === "true" || /^true$/i.test(TF_BUILD ?? "") || Boolean(TEAMCITY_VERSION);
