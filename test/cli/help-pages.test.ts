import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultSettings } from "../../emulator/domain/settings.ts";
import { commandGroups } from "../../src/cli/command-tree/groups.ts";
import { groupNames } from "../../src/cli/command-tree/tree.ts";
import { layOutPage } from "../../src/cli/help/layout.ts";
import { helpTopics } from "../../src/cli/help/topics.ts";
import { normalizeArgv } from "../../src/cli/parse/argv.ts";
import { findMissingInput } from "../../src/cli/parse/declaration.ts";
import { globalFlags } from "../../src/cli/parse/globals.ts";
import { createParser } from "../../src/cli/parse/parser.ts";
import { appSecretList } from "../../src/cli/process/app-secrets.ts";
import { environmentVariables } from "../../src/cli/process/environment.ts";
import type { FlagSpec } from "../../src/derive/command-spec.ts";
import { createEmulatorFlags } from "../../src/derive/emulator-options.ts";
import { sources } from "../structure/repository.ts";
import { loadAllCommands } from "../support/cli/all-commands.ts";
import { runCli } from "../support/cli/run-cli.ts";

const commands = await loadAllCommands();

/** The words of every page: the program, its groups, and their commands. */
const pages: string[] = [
  ...new Set(commands.flatMap(({ words }) => ["", ...words.map((_, i) => words.slice(0, i + 1).join(" "))])),
];

describe("help page", () => {
  it("shows an example", async () => {
    const without: string[] = [];
    for (const words of pages) {
      const { stdout } = await runCli(`${words} --help`);
      if (!/^Examples:\n {2}# .+\n {2}(echo .*\|\s+)?svc( |$)/m.test(stdout)) without.push(words);
    }
    assert.deepEqual(without, []);
  });

  it("names no fields of a command that prints its response unchanged", async () => {
    for (const words of ["openapi", "emulator state export"]) {
      const { stdout } = await runCli(`${words} --help`);
      assert.doesNotMatch(stdout, /Fields for --json=/, words);
    }
  });

  it("does not repeat its summary", () => {
    const splitWords = (text: string) =>
      text
        .toLowerCase()
        .match(/[a-z-]+/g)
        ?.map((word) => word.replace(/s$/, "")) ?? [];
    const repeating = commands.filter(({ summary, description }) => {
      const [first = ""] = description?.split(/\.(?: |$)/) ?? [];
      return splitWords(first).join(" ") === splitWords(summary).join(" ");
    });
    assert.deepEqual(
      repeating.map(({ words }) => words.join(" ")),
      [],
    );
  });

  it("describes each argument and each flag", () => {
    const bare = commands.flatMap(({ words, positionals, flags }) => [
      ...positionals.filter(({ description }) => description === "").map(({ name }) => `${words.join(" ")} <${name}>`),
      ...flags.filter(({ description }) => description === "").map(({ flag }) => `${words.join(" ")} --${flag}`),
    ]);
    assert.deepEqual(bare, []);
  });

  for (const columns of [50, 80]) {
    it(`fits a window of ${columns} columns`, async () => {
      const wide: string[] = [];
      for (const words of [...pages, ...Object.keys(helpTopics).map((topic) => `help ${topic}`)]) {
        const { stdout } = await runCli(words.startsWith("help") ? words : `${words} --help`, { tty: true, columns });
        const isLong = (line: string) => line.length > columns && /\S\s+\S/.test(line.trim());
        const examples = /^Examples:\n(?: {2}.*\n)*/m;
        wide.push(...stdout.replace(examples, "").split("\n").filter(isLong));
      }
      assert.deepEqual(
        [...new Set(wide)].filter((line) => !/^ *(-\w, +)?-/.test(line)),
        [],
      );
    });
  }

  it("suggests only existing commands first", async () => {
    const names = new Set(commands.map(({ words }) => words.join(" ")));
    const dead = Object.entries(commandGroups).flatMap(([group, { exampleCommands = [] }]) =>
      exampleCommands.map((name) => `${group} ${name}`).filter((name) => !names.has(name)),
    );
    assert.deepEqual(dead, []);
    assert.deepEqual(
      (await groupNames()).filter((name) => !commands.some(({ words }) => words[0] === name)),
      [],
      "groups without commands",
    );
    assert.deepEqual(
      (await groupNames()).filter((name) => commandGroups[name] === undefined),
      [],
      "groups without a summary",
    );
  });
});

describe("overview help page", () => {
  for (const words of ["", "emulator"]) {
    it(`fits svc ${words} --help on a screen of 40 lines`, async () => {
      const { stdout } = await runCli(`${words} --help`, { tty: true, columns: 80 });
      assert.ok(stdout.trimEnd().split("\n").length <= 40, stdout);
    });
  }

  it("lists every command in its sections unless declared as unlisted", () => {
    const misplaced = Object.entries(commandGroups).flatMap(([group, { sections, unlisted = [] }]) => {
      const verbs = commands.filter(({ words }) => words[0] === group).map(({ words }) => words[1]!);
      const sectionCommands = (sections ?? []).flatMap(({ commands, more: extraArgs = [] }) => [
        ...commands,
        ...extraArgs,
      ]);
      const listedVerbs = [...sectionCommands, ...unlisted];
      const missing = sections ? verbs.filter((word) => !listedVerbs.includes(word)) : [];
      const twice = listedVerbs.filter((word, i) => listedVerbs.indexOf(word) !== i);
      const dead = listedVerbs.filter((word) => !verbs.includes(word));
      return [...new Set([...missing, ...twice, ...dead])].map((word) => `${group} ${word}`);
    });
    assert.deepEqual(misplaced, []);
  });

  it("omits internal commands, which svc help --all lists with their summaries", async () => {
    const { stdout: page } = await runCli("emulator --help");
    assert.doesNotMatch(page, /watch-|device-page|metrics|list-v1/);
    assert.match(page, /svc help emulator --all/);
    for (const argv of ["help emulator --all", "emulator --help --all"]) {
      const { stdout } = await runCli(argv);
      assert.match(stdout, /\n {2}watch-trace <ref> +Follow the nodes of a trace/, argv);
      assert.match(stdout, /\n {2}console page +Show the page of the console/, argv);
    }
    const { stdout: all } = await runCli("help --all", { tty: true, columns: 100 });
    const rows = new Set(
      all.split("\n").map((line) =>
        line
          .trim()
          .split(/ {2,}/)[0]!
          .replace(/ [<[].*/, ""),
      ),
    );
    assert.deepEqual(
      commands.filter(({ words }) => !rows.has((words.length > 1 ? words.slice(1) : words).join(" "))),
      [],
    );
  });

  it("refers to a separate page for the options of every command", async () => {
    const { stdout } = await runCli("help options");
    assert.deepEqual(
      globalFlags.filter(({ flag }) => !new RegExp(`--(\\[no-\\])?${flag}\\b`).test(stdout)),
      [],
    );
  });
});

describe("help example", () => {
  it("parses as a valid command line", () => {
    const wrong = commands.flatMap((command) =>
      command.examples.flatMap(({ argv }) => {
        // Global flags can precede the command.
        const listed = { words: command.words, loadDeclaration: () => command };
        const parser = createParser([command.words[0]!], [listed]);
        try {
          const parsed = parser.parse(normalizeArgv(argv));
          const { positionals, flags, body } = findMissingInput(command, parsed!.input);
          const missing = [...positionals.map(({ name }) => name), ...[...flags, ...body].map(({ flag }) => flag)];
          return missing.length > 0 ? [`${argv.join(" ")}: ${missing.join(", ")}`] : [];
        } catch (error) {
          return [`${argv.join(" ")}: ${(error as Error).message}`];
        }
      }),
    );
    assert.deepEqual(wrong, []);
  });

  it("are on one line each, also in a narrow window", () => {
    const example = { title: "Long", argv: ["files", "upload", "a b.pdf", "--content-type", "x".repeat(20)] };
    const line = `svc files upload 'a b.pdf' --content-type ${"x".repeat(20)}`;
    assert.equal(layOutPage({ examples: [example] }, 40), `Examples:\n  # Long\n  ${line}\n`);
    assert.equal(
      layOutPage({ examples: [{ ...example, stdin: "it's" }] }, 40),
      `Examples:\n  # Long\n  echo 'it'\\''s' | ${line}\n`,
    );
  });
});

describe("emulator help", () => {
  it("states the defaults of the emulator", () => {
    const flags: readonly FlagSpec[] = createEmulatorFlags(0);
    const defaults = Object.fromEntries(flags.map(({ flag, default: usual }) => [flag, usual]));
    assert.deepEqual(
      [defaults["retry-schedule"], defaults["webhook-json"]],
      [defaultSettings.retrySchedule.join(","), defaultSettings.webhookJson],
    );
  });

  it("groups the options of start and refers to them from exec", async () => {
    const flagsOf = (words: string) => commands.find((one) => one.words.join(" ") === words)!.flags;
    const start = flagsOf("emulator start").map(({ flag }) => flag);
    const advice = "Give a rare option a variable instead of a flag, in src/derive/emulator-options.ts";
    assert.ok(start.length <= 24, `svc emulator start has ${start.length} flags, at most 24. ${advice}`);
    const { stdout: page } = await runCli("emulator start --help");
    assert.deepEqual(
      [...page.matchAll(/^(\w+):$/gm)].map(([, title]) => title),
      ["Examples", "Options", "State", "Clock", "Network", "Webhooks", "Strictness"],
    );
    const { stdout: exec } = await runCli("emulator exec --help");
    const [, except = ""] = /Also takes the options of svc emulator start, except ([^.]*)\./.exec(exec) ?? [];
    const exceptions = new Set(except.replace(/\s+/g, " ").replace(" and ", ", ").split(", "));
    assert.deepEqual(
      flagsOf("emulator exec").map(({ flag }) => flag),
      start.filter((flag) => !exceptions.has(`--${flag}`)),
    );
  });
});

describe("svc help environment", () => {
  /** Variables that every program reads, or that only identify the system. */
  const systemVariables =
    /^(HOME|APPDATA|LOCALAPPDATA|LANG|LC_\w+|TERM|SHELL|PSModulePath|DISPLAY|WAYLAND_DISPLAY|SSH_\w+|WSL_DISTRO_NAME)$/;

  /** Variables that svc sets for its own child processes. */
  const ofOurs = ["SVC_STARTED_BY"];

  it("names exactly the variables that the command line reads", () => {
    const read = sources
      .filter(({ path }) => /^(src\/(cli|client)|bin)\//.test(path) && path !== "src/cli/process/environment.ts")
      .flatMap(({ text }) => [
        ...[...text.matchAll(/\benv\.([A-Z]\w+)/g)].map(([, name]) => name!),
        ...[...text.matchAll(/"((?:SVC_)?[A-Z]+(?:_[A-Z]+)+)"/g)].map(([, name]) => name!).filter(isVariable),
      ]);
    const documented = environmentVariables.flatMap(([names]) => names.split(", "));
    assert.deepEqual(
      [...new Set(read)].filter(
        (name) => !systemVariables.test(name) && !ofOurs.includes(name) && !documented.includes(name),
      ),
      [],
    );
    const all = sources.map(({ text }) => text).join("\n");
    assert.deepEqual(
      documented.filter((name) => all.split(name).length < 3 && !appSecretList.some(({ env }) => env === name)),
      [],
      "documented, but not read",
    );
  });

  const isVariable = (name: string) => name.startsWith("SVC_");

  it("matches the descriptions of flags", () => {
    const documented = new Set(environmentVariables.flatMap(([names]) => names.split(", ")));
    const flags = [...globalFlags, ...commands.flatMap((command) => command.flags)];
    const variables = flags.flatMap(({ description }) => description.match(/\bSVC_[A-Z_]+\b/g) ?? []);
    assert.deepEqual(
      [...new Set(variables)].filter((name) => !documented.has(name)),
      [],
    );
  });
});
