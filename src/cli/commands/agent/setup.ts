import { readFile, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { formatFsError, isFsError } from "../../../files/fs-errors.ts";
import { makeFolder } from "../../../files/make-folder.ts";
import { type Context, defineCommand } from "../../command.ts";
import { UsageError } from "../../failure.ts";
import { writeOutput } from "../../output/file.ts";

const defaultFolder = ".agents/skills";

export const agentSetup = defineCommand({
  words: ["agent", "setup"],
  sendsNothing: true,
  summary: "Write a skill that teaches coding agents to use svc",
  description:
    "Writes svc/SKILL.md below the folder: what svc is, the commands that matter, how to read answers and exit codes, how to move time, and what never to do. Agents read it when a task needs it. Run it again after an update of svc. A file of other content is replaced only with --force, or after a prompt.",
  positionals: [],
  flags: [
    {
      flag: "dir",
      type: "text",
      placeholder: "DIR",
      description: "Folder in which your agent looks for skills",
      default: defaultFolder,
    },
    { flag: "force", type: "switch", description: "Replace a file of other content" },
  ],
  examples: [
    { title: "For agents that work in this folder", argv: ["agent", "setup"] },
    { title: "In another folder of skills", argv: ["agent", "setup", "--dir", "skills"] },
  ],
  async run(input, context) {
    const { host, output } = context;
    const folder = join(await skillsFolder(input.flags.dir ?? defaultFolder, context), "svc");
    const file = join(folder, "SKILL.md");
    const shown = relative(host.cwd, file) || file;
    const { skillOf } = await import("./skill.ts");
    const text = skillOf(JSON.parse((await context.svc(["help", "--json"])).out));
    const before = await contentOf(file, shown);
    if (before === text) return told("unchanged");
    if (before !== undefined && input.flags.force !== true) {
      const isReplaced = await context.confirm(`Replace ${shown}, which has other content?`, "--force");
      if (!isReplaced) {
        await output.note("Nothing was changed");
        return "failed";
      }
    }
    await makeFolder(folder);
    await writeOutput(host, file, [Buffer.from(text)]);
    return told(before === undefined ? "created" : "replaced");

    async function told(outcome: "created" | "replaced" | "unchanged"): Promise<undefined> {
      const lines = text.split("\n").length - 1;
      if (output.format === "table") await output.note(`${shown}: ${outcome}, ${lines} lines`);
      else await output.show({ file, outcome, lines });
    }
  },
});

/** Absolute. Throws a UsageError where a file stands there, or above it. */
async function skillsFolder(dir: string, { host }: Context): Promise<string> {
  if (dir === "") throw new UsageError('--dir must be a folder, got ""');
  const folder = resolve(host.cwd, dir);
  for (let at = folder; ; at = dirname(at)) {
    const found = await stat(at).catch(() => undefined);
    if (found?.isDirectory() || at === dirname(at)) return folder;
    if (found === undefined) continue;
    throw new UsageError(`--dir must be a folder, got "${dir}": ${relative(host.cwd, at) || at} is a file`, {
      hint: `Name a folder, such as ${defaultFolder}.`,
    });
  }
}

async function contentOf(file: string, shown: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw isFsError(error)
      ? new UsageError(`--dir: cannot read ${shown}: ${formatFsError(error)}`, { cause: error })
      : error;
  }
}
