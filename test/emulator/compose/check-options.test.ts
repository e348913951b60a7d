import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type EmulatorOptions, startEmulator } from "../../../emulator/index.ts";

async function refusal(options: object): Promise<string> {
  try {
    const emulator = await startEmulator(options as EmulatorOptions);
    await emulator.close();
    return "it started";
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
}

describe("options that no emulator has", () => {
  const cases: [object, string][] = [
    [{ clok: { mode: "manual" } }, 'unknown option "clok". Did you mean clock?'],
    [{ clock: { mod: "manual" } }, 'unknown option "clock.mod". Did you mean mode?'],
    [
      { autosignMs: 1, ports: 2 },
      'unknown option "autosignMs". Did you mean autoSignMs?; unknown option "ports". Did you mean port?',
    ],
    [{ port: 70_000 }, "port: Too big: expected number to be <=65535"],
    [{ port: "4010" }, "port: Invalid input: expected number, received string"],
    [{ clock: { start: "soon" } }, "clock.start: must be an ISO time"],
    [{ strict: ["bodys"] }, 'strict: unknown strict check "bodys". Did you mean bodies?'],
    [{ log: "yes" }, "log: must be a function"],
    [
      { webhookAllow: ["hooks.example.com", "https://hooks.example.com/x"] },
      'webhookAllow.1: "https://hooks.example.com/x" is no host, host:port or *.domain. Did you mean hooks.example.com?',
    ],
    [
      { webhookAllow: ["http://[::1]:3000/", "*.example.com:8080", ".example.com", "*"] },
      [
        'webhookAllow.0: "http://[::1]:3000/" is no host, host:port or *.domain. Did you mean [::1]:3000?',
        'webhookAllow.1: "*.example.com:8080" is no host, host:port or *.domain. Did you mean *.example.com?',
        'webhookAllow.2: ".example.com" is no host, host:port or *.domain. Did you mean *.example.com?',
        'webhookAllow.3: "*" is no host, host:port or *.domain',
      ].join("; "),
    ],
    [
      { webhookAllow: ["10.0.0.0/8", "a.example,b.example", "a.example:70000", "127.1"] },
      [
        'webhookAllow.0: "10.0.0.0/8" is no host, host:port or *.domain',
        'webhookAllow.1: "a.example,b.example" is no host, host:port or *.domain',
        'webhookAllow.2: "a.example:70000" is no host, host:port or *.domain',
        'webhookAllow.3: "127.1" is no host, host:port or *.domain. Did you mean 127.0.0.1?',
      ].join("; "),
    ],
  ];
  for (const [options, message] of cases) {
    it(`are refused by name: ${JSON.stringify(options)}`, async () => {
      assert.equal(await refusal(options), `InvalidOptionsError: startEmulator: ${message}`);
    });
  }

  it("are refused of a seed, too", async () => {
    assert.equal(
      await refusal({ seed: { clusters: [{ id: 5, label: "eu" }], clusterz: [] } }),
      'InvalidOptionsError: The seed is not valid: clusters[0].id: expected string, received number; Unrecognized key: "clusterz"',
    );
    assert.match(await refusal({ seed: "demos" }), /^InvalidOptionsError: There is no seed "demos"/);
  });

  it("are none of the hosts that webhooks may go to", async () => {
    const webhookAllow = [
      "Hooks.example.com",
      "hooks:8080",
      "*.example.com",
      "10.0.0.7",
      "fd00::1",
      "[fd00::1]:80",
      "my_app",
    ];
    assert.equal(await refusal({ webhookAllow }), "it started");
  });

  it("may be undefined: that leaves them out", async () => {
    assert.equal(await refusal({ port: undefined, clock: undefined, strict: undefined }), "it started");
  });
});
