import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type EmulatorOptions, startEmulator } from "../../../emulator/index.ts";
import { startTestEmulator } from "../../support/emulator.ts";

async function startAndDescribeError(options: object): Promise<string> {
  try {
    const emulator = await startEmulator(options as EmulatorOptions);
    await emulator.close();
    return "it started";
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
}

describe("validation of emulator options", () => {
  const cases: [object, string][] = [
    [{ clok: { mode: "manual" } }, 'unknown option "clok". Did you mean clock?'],
    [{ clock: { mod: "manual" } }, 'unknown option "clock.mod". Did you mean mode?'],
    [
      { autosignMs: 1, ports: 2 },
      'unknown option "autosignMs". Did you mean autoSignMs?; unknown option "ports". Did you mean port?',
    ],
    [{ port: 70_000 }, "port must be at most 65535"],
    [{ port: "4010" }, "port must be a number"],
    [{ clock: { start: "soon" } }, "clock.start must be an ISO time"],
    [{ clock: { start: 5 } }, "clock.start must be an ISO time"],
    [{ clock: { start: "day 1" } }, "clock.start must be an ISO time"],
    [[], "the options must be an object"],
    [{ strict: ["bodys"] }, 'strict: unknown strict check "bodys". Did you mean bodies?'],
    [{ log: "yes" }, "log must be a function"],
    [{ token: "correct horse" }, "token must be ASCII characters without blanks"],
    [{ token: "clé" }, "token must be ASCII characters without blanks"],
    ...["localhost:4010", "http://sandbox.example/", "http://sandbox.example/?a", 3].map(
      (publicUrl): [object, string] => [
        { publicUrl },
        `publicUrl must be an http or https URL without a trailing slash, query or user, got ${JSON.stringify(publicUrl)}`,
      ],
    ),
    [
      { publicUrl: "http://jo:hunter2@sandbox.example" },
      'publicUrl must be an http or https URL without a trailing slash, query or user, got "http://[redacted]@sandbox.example"',
    ],
    [
      { host: "", file: "", from: "", runFile: "", token: "" },
      ["file", "from", "host", "token", "runFile"].map((name) => `${name} must not be empty`).join("; "),
    ],
    [
      { webhookAllow: ["hooks.example.com", "https://hooks.example.com/x"] },
      'webhookAllow.1 must be host, host:port or *.domain, got "https://hooks.example.com/x". Did you mean hooks.example.com?',
    ],
    [
      { webhookAllow: ["http://[::1]:3000/", "*.example.com:8080", ".example.com", "*"] },
      [
        'webhookAllow.0 must be host, host:port or *.domain, got "http://[::1]:3000/". Did you mean [::1]:3000?',
        'webhookAllow.1 must be host, host:port or *.domain, got "*.example.com:8080". Did you mean *.example.com?',
        'webhookAllow.2 must be host, host:port or *.domain, got ".example.com". Did you mean *.example.com?',
        'webhookAllow.3 must be host, host:port or *.domain, got "*"',
      ].join("; "),
    ],
    [
      { webhookAllow: ["10.0.0.0/8", "a.example,b.example", "a.example:70000", "127.1"] },
      [
        'webhookAllow.0 must be host, host:port or *.domain, got "10.0.0.0/8"',
        'webhookAllow.1 must be host, host:port or *.domain, got "a.example,b.example"',
        'webhookAllow.2 must be host, host:port or *.domain, got "a.example:70000"',
        'webhookAllow.3 must be host, host:port or *.domain, got "127.1". Did you mean 127.0.0.1?',
      ].join("; "),
    ],
  ];
  for (const [options, message] of cases) {
    it(`rejects ${JSON.stringify(options)} and names the invalid option`, async () => {
      assert.equal(await startAndDescribeError(options), `InvalidOptionsError: startEmulator: ${message}`);
    });
  }

  it("rejects invalid options of a seed", async () => {
    assert.equal(
      await startAndDescribeError({ seed: { clusters: [{ id: 5, label: "eu" }], clusterz: [] } }),
      'InvalidOptionsError: The seed is not valid: clusters[0].id must be a string; Unrecognized key: "clusterz"',
    );
    assert.match(await startAndDescribeError({ seed: "demos" }), /^InvalidOptionsError: Seed "demos" not found/);
  });

  it("rejects hosts that webhooks must not use", async () => {
    const webhookAllow = [
      "Hooks.example.com",
      "hooks:8080",
      "*.example.com",
      "10.0.0.7",
      "fd00::1",
      "[fd00::1]:80",
      "my_app",
    ];
    assert.equal(await startAndDescribeError({ webhookAllow }), "it started");
  });

  it("rejects a listener that is not a function before the first event", async (t) => {
    const emulator = await startTestEmulator(t);
    assert.throws(() => emulator.watch("events" as never), {
      name: "InvalidOptionsError",
      message: "emulator.watch: the listener must be a function",
    });
  });

  it("accepts undefined as the default", async () => {
    assert.equal(await startAndDescribeError({ port: undefined, clock: undefined, strict: undefined }), "it started");
  });
});
