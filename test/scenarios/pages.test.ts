import assert from "node:assert/strict";
import { copyFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { tsImport } from "tsx/esm/api";
import { exampleContract } from "../../src/api/contracts/contracts.ts";
import { readEmulatorOptions } from "../../src/cli/commands/emulator/options.ts";
import { root } from "../structure/repository.ts";
import { createTestFolder, startCliEmulator } from "../support/cli/cli-emulator.ts";
import { createEmptyPdf } from "../support/cli/examples-stage.ts";
import { assertPageSection, extractCodeBlocks, extractShellCommands, readPage } from "../support/cli/pages.ts";
import type { RunResult } from "../support/cli/run-cli.ts";
import { type RunningCommand, startCommand } from "../support/cli/running-command.ts";
import { findFreePort } from "../support/free-port.ts";
import { startReceiver } from "../support/receiver.ts";
import { getBundleFolder } from "../support/shipped.ts";

/** The words of a command line with quotes. */
const splitWords = (line: string): string[] =>
  (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'|'$/g, ""));

/** The arguments of `npx svc …`. */
function parseArguments(command: string): string[] {
  assert.match(command, /^npx svc /, `This test does not know how to run: ${command}`);
  return splitWords(command).slice(2);
}

/** Runs a command of a page and asserts success. */
async function assertSucceeds(command: string, run: Promise<RunResult>): Promise<void> {
  const { exit, stderr } = await run;
  const isEmpty = stderr.includes("Nothing found");
  assert.deepEqual({ command, exit, error: exit === 0 && !isEmpty ? "" : stderr }, { command, exit: 0, error: "" });
}

// test/packaged/pages.test.ts pastes all other commands of the pages.
describe("user documentation", () => {
  it("shows working commands in docs/scenarios.md", async (t) => {
    const page = "docs/scenarios.md";
    const { svc, cwd } = await startCliEmulator(t);
    const app = await startReceiver(t);
    for (const block of extractCodeBlocks(page, "yaml")) {
      const [, name = ""] = /^# (\S+\.yaml)\n/.exec(block) ?? [];
      await writeFile(join(cwd, name), block.replace("http://localhost:3000/hooks", app.url));
    }
    await writeFile(join(cwd, "nda.json"), JSON.stringify(exampleContract));
    await svc("contracts create --data nda.json");
    for (const command of extractShellCommands(page)) {
      const [line = "", file] = command.split(" > ");
      const run = svc(parseArguments(line));
      await assertSucceeds(command, run);
      if (file !== undefined) JSON.parse((await run).stdout);
    }
  });

  it("shows working commands in docs/verify.md", async (t) => {
    const { svc, cwd, emulator } = await startCliEmulator(t);
    const { url, clientId: client_id, clientSecret: client_secret } = emulator.clusters[0]!;
    const staging = { contracts_url: url, router_url: emulator.routerUrl, client_id, client_secret };
    await writeFile(join(cwd, "profiles.json"), JSON.stringify({ profiles: { staging } }), { mode: 0o600 });
    await writeFile(join(cwd, "check.mjs"), "process.exit(process.env.SVC_BASE_URL ? 0 : 1)");
    let proxy: RunningCommand | undefined;
    for (const command of extractShellCommands("docs/verify.md")) {
      const words = parseArguments(command.replace("https://api.example.com", url).replace("--port 8080", "--port 0"));
      if (words[1] === "proxy" || words[1] === "listen") {
        const started = startCommand(svc, [...words, "--json"]);
        await started.saw('"ready"');
        if (words[1] === "proxy") proxy = started;
        else {
          await svc("webhooks trigger CONTRACT_CREATED");
          started.signal("SIGINT");
          await started.completion;
          proxy!.signal("SIGINT");
          assert.equal((await proxy!.completion).exit, 130);
        }
        continue;
      }
      await assertSucceeds(command, svc(words[1] === "record" ? [...words, "--rate", "1000"] : words));
    }
    const recorded = (await readdir(join(cwd, "session"))).filter((name) =>
      name.endsWith("CONTRACT_CREATED.exchange.json"),
    );
    assert.equal(recorded.length, 1);
  });

  it("shows commands in docs/webhooks.md that certify a receiver", async (t) => {
    const { svc, cwd } = await startCliEmulator(t);
    await copyFile(join(root, "docs/receivers/receiver.mjs"), join(cwd, "receiver.mjs"));
    const env = { PATH: process.env.PATH };
    for (const command of extractShellCommands("docs/webhooks.md").filter((line) => line.includes(" certify ")))
      await assertSucceeds(
        command,
        svc(parseArguments(command.replace("3000", String(await findFreePort()))), { env }),
      );
  });

  it("shows a recorded session that matches the real output", async (t) => {
    const page = "docs/quickstart.md";
    const [, start = ""] = /`svc (emulator start [^`]*)`/.exec(readPage(page)) ?? [];
    const flags = Object.fromEntries(
      [...start.matchAll(/--([a-z-]+)(?: ([^-\s]\S*))?/g)].map(([, flag, value]) => [flag, value ?? true]),
    );
    const host = { env: {}, cwd: "/" } as unknown as Parameters<typeof readEmulatorOptions>[1];
    const options = await readEmulatorOptions({ positionals: {}, flags }, host);
    const { svc, cwd } = await startCliEmulator(t, {
      ...options,
      file: join(await createTestFolder(t), "emulator.json"),
    });
    await writeFile(join(cwd, "agreement.pdf"), createEmptyPdf());
    await writeFile(join(cwd, "nda.json"), JSON.stringify(exampleContract));
    const [recording = ""] = extractCodeBlocks(page, "console");
    let played = "";
    for (const [, line = ""] of recording.matchAll(/^\$ svc (.*)$/gm)) {
      // Both streams on a terminal of 100 columns.
      const { stdout, stderr } = await svc(splitWords(line), {
        tty: true,
        env: { SVC_NO_COLOR: "1", SVC_NO_INPUT: "1" },
      });
      played += `$ svc ${line}\n${stdout}${stderr}`;
    }
    assertPageSection(page, `\`\`\`console\n${recording}\`\`\``, `\`\`\`console\n${played}\`\`\``);
  });

  it("shows a working program", async (t) => {
    const [program = ""] = extractCodeBlocks("docs/testing.md", "ts");
    const [, promised] = /; \/\/ (\{.*\})$/m.exec(program) ?? [];
    const door = pathToFileURL(join(getBundleFolder(), "emulator.js")).href;
    const path = join(await createTestFolder(t), "program.mts");
    await writeFile(
      path,
      `${program.replace("svc-toolkit/emulator", door)}\nexport const answer = await response.text();\n`,
    );
    const { answer } = await tsImport(pathToFileURL(path).href, import.meta.url);
    assert.equal(answer, promised);
  });
});
