import assert from "node:assert/strict";
import { it } from "node:test";
import manifest from "../../package.json" with { type: "json" };
import { svcVersion } from "../../src/base/version.ts";

it("generated files record the package version as their writer", () => assert.equal(svcVersion, manifest.version));
