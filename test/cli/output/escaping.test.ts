import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  escapeControlCharacters,
  escapeJson,
  escapeMultilineText,
  neutralizeCommands,
  neutralizeJsonCommands,
} from "../../../src/cli/output/control-characters.ts";

const ordinary = [
  "",
  "Müller, São Tomé, naïve, e\u0301",
  "契約書、はい、서울, ไทย, ᠮᠣᠩᠭᠣᠯ",
  "עברית العربية",
  "नमस्ते क\u094d\u200dष, می\u200cخواهم",
  "👩\u200d👩\u200d👧\u200d👦 👍🏽 ❤\ufe0f 1\ufe0f\u20e3 🏳\ufe0f\u200d🌈 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
  "葛\u{e0100}",
  "C:\\dir\\new — “quoted” … 50 € @ #1 :: ok",
];

const attacks: Readonly<Record<string, readonly [text: string, shown: string]>> = {
  "CSI that clears the screen": ["a\x1b[2Jb", "a\\x1b[2Jb"],
  "OSC 8 (hyperlink)": ["\x1b]8;;http://x\x07y\x1b]8;;\x07", "\\x1b]8;;http://x\\x07y\\x1b]8;;\\x07"],
  "OSC 52 (clipboard)": ["\x1b]52;c;eA==\x1b\\", "\\x1b]52;c;eA==\\x1b\\"],
  DCS: ["\x1bP+q544e\x1b\\", "\\x1bP+q544e\\x1b\\"],
  "C1 controls": ["\x9b31m\x90\x9d", "\\x9b31m\\x90\\x9d"],
  "line breaks of all kinds": ["a\nb\rc\u2028d\u2029e\x85f\vg\fh", "a\\nb\\rc\\u2028d\\u2029e\\x85f\\x0bg\\x0ch"],
  "tabs, backspaces, NUL and DEL": ["\t\b\0\x7f", "\\t\\x08\\x00\\x7f"],
  "direction overrides and isolates": [
    "\u202eexe\u202c \u2066x\u2069 \u200f\u061c",
    "\\u202eexe\\u202c \\u2066x\\u2069 \\u200f\\u061c",
  ],
  "lone surrogates": ["\ud800x\udc00", "\\ud800x\\udc00"],
  "invisible characters": [
    "pay\u200bpal a\u2060b\ufeff c\u00add \u3164\u115f",
    "pay\\u200bpal a\\u2060b\\ufeff c\\xadd \\u3164\\u115f",
  ],
  "misplaced joiners": ["ad\u200dmin ad\u200cmin \u200dx", "ad\\u200dmin ad\\u200cmin \\u200dx"],
  "joiners and selectors in a row": [
    "👩\u200d\u200d👧 x\ufe0f\ufe0f\u{e0141}",
    "👩\u200d\\u200d👧 x\ufe0f\\ufe0f\\u{e0141}",
  ],
  "text in tags": ["ok\u{e0049}\u{e0067}\u{e007f}", "ok\\u{e0049}\\u{e0067}\\u{e007f}"],
  annotations: ["\ufff9a\ufffab\ufffb", "\\ufff9a\\ufffab\\ufffb"],
};

describe("escaped text for users", () => {
  for (const text of ordinary) {
    it(`leaves ${text} unchanged`, () => assert.equal(escapeControlCharacters(text), text));
  }

  for (const [label, [text, escaped]] of Object.entries(attacks)) {
    it(`shows ${label}`, () => {
      assert.equal(escapeControlCharacters(text), escaped);
      assert.equal(escapeControlCharacters(escaped), escaped);
    });
  }

  it("preserves line breaks and tabs only where intended", () =>
    assert.equal(escapeMultilineText("a\tb\n\x1b[1mc\r\n"), "a\tb\n\\x1b[1mc\\r\n"));
});

describe("escaped JSON", () => {
  it("preserves the meaning and contains no terminal control sequences", () => {
    for (const [text] of [...Object.values(attacks), ...ordinary.map((value) => [value] as const)]) {
      const document = { [text]: [text] };
      const json = escapeJson(JSON.stringify(document, null, 2));
      assert.deepEqual(JSON.parse(json), document);
      assert.equal(escapeMultilineText(json), json);
    }
  });
});

describe("GitHub Actions runner command in output", () => {
  for (const [line, neutralized] of [
    ["::stop-commands::x", "\\x3a:stop-commands::x"],
    [" \u00a0\u3000::add-mask::x", " \u00a0\u3000\\x3a:add-mask::x"],
    ["a\n::error::x", "a\n\\x3a:error::x"],
    ["##[error]x ##[group]", "\\x23#[error]x \\x23#[group]"],
    ["a ::b:: # c", "a ::b:: # c"],
  ] as const) {
    it(`is escaped: ${JSON.stringify(line)}`, () => {
      assert.equal(neutralizeCommands(line), neutralized);
      assert.equal(neutralizeCommands(neutralized), neutralized);
    });
  }

  it("is escaped in JSON without a change of meaning", () => {
    const document = { "##[group]": "##[endgroup]###[" };
    const json = neutralizeJsonCommands(JSON.stringify(document));
    assert.equal(json.includes("##["), false);
    assert.deepEqual(JSON.parse(json), document);
  });
});
