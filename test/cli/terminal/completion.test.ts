import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { createCompletionScript, shells } from "../../../src/cli/commands/completion.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { hasProgram, installSvc, openTerminal } from "../../support/cli/terminal.ts";

const run = promisify(execFile);

/** The response of svc to the shell: the candidates without descriptions, and the directive. */
async function completeWords(words: readonly string[], env: Record<string, string> = {}): Promise<string[]> {
  const { exit, stdout, stderr } = await runCli(["complete", "--", ...words], { env });
  assert.deepEqual([exit, stderr], [0, ""]);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t")[0]!);
}

describe("svc complete", () => {
  const cases: [string, string[], string[]][] = [
    ["groups", ["cont"], ["contracts", ":4"]],
    ["commands", ["contracts", "stat"], ["status", ":4"]],
    ["nested commands", ["emulator", "clock", "a"], ["advance", ":4"]],
    ["commands after global flags and their values", ["--format", "json", "contracts", "stat"], ["status", ":4"]],
    ["flags", ["contracts", "send", "T-1", "--wait-"], ["--wait-timeout", ":4"]],
    ["values of flags", ["contracts", "send", "T-1", "--wait", "ex"], ["executed", ":4"]],
    ["statuses in the typed case", ["emulator", "wait-for", "--status", "ex"], ["executed", ":4"]],
    ["statuses", ["emulator", "wait-for", "--status", "EX"], ["EXECUTED", ":4"]],
    ["activities", ["webhooks", "trigger", "CONTRACT_SIGNE"], ["CONTRACT_SIGNED", ":4"]],
    ["values after an equals sign", ["contracts", "send", "--wait=ex"], ["executed", ":4"]],
    ["values of positionals", ["completion", "z"], ["zsh", ":4"]],
    ["fields of responses", ["contracts", "status", "--json=contract_n"], ["contract_name", ":6"]],
    ["further fields", ["contracts", "status", "--fields", "contract_name,"], ["contract_name,contract_status", ":6"]],
    ["files for a file argument", ["contracts", "create", "--data", ""], [":0"]],
    ["files after --", ["emulator", "exec", "--", "np"], [":0"]],
    ["nothing for free text", ["contracts", "status", ""], [":4"]],
    ["nothing for an unknown command", ["nonsense", ""], [":4"]],
  ];
  for (const [label, words, expected] of cases) {
    it(`completes ${label}`, async () => assert.deepEqual(await completeWords(words), expected));
  }

  it("completes profiles, and nothing if the profile file is damaged", async (t) => {
    const folder = await createTestFolder(t);
    await writeFile(join(folder, "profiles.json"), '{"profiles":{"staging":{},"prod":{}}}');
    assert.deepEqual(await completeWords(["config", "use", "st"], { SVC_CONFIG_DIR: folder }), ["staging", ":4"]);
    assert.deepEqual(await completeWords(["--profile", ""], { SVC_CONFIG_DIR: folder }), ["staging", "prod", ":4"]);
    await writeFile(join(folder, "profiles.json"), "{");
    assert.deepEqual(await completeWords(["config", "use", ""], { SVC_CONFIG_DIR: folder }), [":4"]);
  });

  it("omits names that a shell would evaluate", async (t) => {
    const folder = await createTestFolder(t);
    await writeFile(join(folder, "profiles.json"), '{"profiles":{"$(id>ran)":{},"two words":{},"prod":{}}}');
    assert.deepEqual(await completeWords(["config", "use", ""], { SVC_CONFIG_DIR: folder }), ["prod", ":4"]);
  });

  it("prints a script for each shell", async () => {
    for (const shell of shells) {
      const { exit, stdout } = await runCli(["completion", shell]);
      assert.deepEqual([exit, stdout], [0, createCompletionScript(shell)]);
      assert.match(stdout, /(?:svc|\$\{svc\[@\]\}") complete/);
    }
    assert.equal((await runCli("completion tcsh")).exit, 2);
  });
});

/** A folder with svc and the completion script of a shell. */
async function createShellFolder(t: TestContext, shell: (typeof shells)[number]) {
  const folder = await createTestFolder(t);
  await installSvc(folder);
  await writeFile(join(folder, "script"), createCompletionScript(shell));
  return folder;
}

/** A folder whose installed svc only npx finds. */
async function createProjectFolder(t: TestContext, shell: (typeof shells)[number]) {
  const folder = await createShellFolder(t, shell);
  await mkdir(join(folder, "installed"));
  await rename(join(folder, "svc"), join(folder, "installed/svc"));
  const npx = '#!/bin/sh\n[ "$1" = --no-install ] && shift\nshift\nexec "$(dirname "$0")/installed/svc" "$@"\n';
  await writeFile(join(folder, "npx"), npx, { mode: 0o755 });
  return folder;
}

const describeMissingPrograms = (...programs: string[]) => {
  const absent = programs.filter((name) => !hasProgram(name));
  return absent.length > 0 ? `${absent.join(" and ")} not installed` : false;
};

describe("completion with Tab", () => {
  it("works in bash, even if loaded twice, and runs no typed text", {
    skip: describeMissingPrograms("bash", "tmux"),
  }, async (t) => {
    const folder = await createShellFolder(t, "bash");
    const { keys, waitFor } = await openTerminal(t, ["bash", "--norc", "--noprofile"], { folder });
    await keys("source script; source script; clear; echo loaded", "Enter");
    await waitFor(/^loaded$/m);
    await keys("svc contracts stat", "Tab");
    await waitFor("svc contracts status");
    await keys("T-1 --json=contract_n", "Tab");
    await waitFor("--json=contract_name");
    await keys("C-u", "svc contracts send --wait ex", "Tab");
    await waitFor("--wait executed");
    await keys("C-u", "svc contracts $(id>ran) ", "Tab", "C-u", "svc contracts send --set=$(id>ran)=", "Tab", "C-u");
    await keys("clear; ls; echo listed", "Enter");
    const screen = await waitFor(/^listed$/m);
    assert.equal(/\bran\b/.test(screen), false, screen);
  });

  it("works in bash after words with a colon, an equals sign or an at sign", {
    skip: describeMissingPrograms("bash", "tmux"),
  }, async (t) => {
    const folder = await createShellFolder(t, "bash");
    const { keys, waitFor } = await openTerminal(t, ["bash", "--norc", "--noprofile"], { folder });
    await keys("source script; clear; echo loaded", "Enter");
    await waitFor(/^loaded$/m);
    await keys("svc contracts list --base-url http://127.0.0.1:1 --form", "Tab");
    await waitFor("--base-url http://127.0.0.1:1 --format");
    await keys("C-u", "svc  --base-url   http://127.0.0.1:1 contracts stat", "Tab");
    await waitFor("http://127.0.0.1:1 contracts status");
    await keys("C-u", "svc contracts send --set=owner=ada@northwind.example --wait=ex", "Tab");
    await waitFor("--wait=executed");
    await keys("C-u", "svc contracts status --base-url=http://127.0.0.1:1 --fields=contract_name,contract_s", "Tab");
    await waitFor("--fields=contract_name,contract_status");
  });

  it("works in zsh and runs no typed text", { skip: describeMissingPrograms("zsh", "tmux") }, async (t) => {
    const folder = await createShellFolder(t, "zsh");
    const { keys, waitFor } = await openTerminal(t, ["zsh", "-f"], { folder });
    // The default Tab binding of zsh expands $(…) itself before completion.
    const bind = "bindkey '^I' complete-word";
    await keys(`autoload -Uz compinit && compinit -u -D && source ./script; ${bind}; clear; echo loaded`, "Enter");
    await waitFor(/^loaded$/m);
    await keys("svc contracts stat", "Tab");
    await waitFor("svc contracts status");
    await keys("C-u", "svc contracts send --wait ex", "Tab");
    await waitFor("--wait executed");
    await keys("C-u", "svc contracts send --base-url http://127.0.0.1:1 --wait=ex", "Tab");
    await waitFor("--wait=executed");
    await keys("C-u", "svc contracts create --data ./scr", "Tab");
    await waitFor("--data ./script");
    for (const word of ["$(id>ran)=", "--set=$(id>ran)=", "--data=`id>ran`=x"]) {
      await keys("C-u", `svc contracts create ${word}`, "Tab");
    }
    await keys("C-u", "clear; ls; echo listed", "Enter");
    const screen = await waitFor(/^listed$/m);
    assert.equal(/\bran\b/.test(screen), false, screen);
  });

  it("runs no typed text in PowerShell after a typographic quote", () => {
    assert.match(createCompletionScript("powershell"), /"'" \+ \[.*\]::EscapeSingleQuotedStringContent\(\$_\) \+ "'"/);
  });

  for (const shell of ["bash", "zsh"] as const) {
    it(`works for the svc function in projects in ${shell}`, {
      skip: describeMissingPrograms(shell, "tmux"),
    }, async (t) => {
      const folder = await createProjectFolder(t, shell);
      const ready = { bash: "", zsh: "autoload -Uz compinit && compinit -u -D; " }[shell];
      const plain = { bash: ["--norc", "--noprofile"], zsh: ["-f"] }[shell];
      const { keys, waitFor } = await openTerminal(t, [shell, ...plain], { folder });
      await keys(`${ready}source ./script; svc() { npx svc "$@"; }; clear; echo loaded`, "Enter");
      await waitFor(/^loaded$/m);
      await keys("svc contracts stat", "Tab");
      await waitFor("svc contracts status");
    });
  }

  it("works for the svc function in projects in fish", { skip: describeMissingPrograms("fish") }, async (t) => {
    const folder = await createProjectFolder(t, "fish");
    const line = "function svc; npx svc $argv; end; source script; complete -C 'svc contracts stat'";
    const { stdout } = await run("fish", ["--no-config", "-c", line], {
      cwd: folder,
      env: { HOME: folder, PATH: `${folder}:${process.env.PATH}` },
    });
    assert.equal(stdout, "status\tShow a contract's status\n");
  });

  it("works in fish", { skip: describeMissingPrograms("fish") }, async (t) => {
    const folder = await createShellFolder(t, "fish");
    const complete = async (line: string) => {
      const { stdout } = await run("fish", ["--no-config", "-c", `source script; complete -C '${line}'`], {
        cwd: folder,
        env: { HOME: folder, PATH: `${folder}:${process.env.PATH}` },
      });
      return stdout.trimEnd().split("\n");
    };
    assert.deepEqual(await complete("svc contracts stat"), ["status\tShow a contract's status"]);
    assert.deepEqual(await complete("svc contracts send --wait=ex"), ["--wait=executed"]);
    await complete("svc contracts send --set=(id>ran)= ");
    assert.equal(existsSync(join(folder, "ran")), false);
  });
});
