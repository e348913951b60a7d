import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { applyDefaultAnswers, validateAnswers } from "../../../../emulator/cluster/templates/answers.ts";
import type { IntakeQuestion } from "../../../../emulator/domain/workspaces.ts";

const createQuestion = (type: IntakeQuestion["type"], overrides: Partial<IntakeQuestion> = {}): IntakeQuestion => ({
  variable: "answer",
  display_label: "Answer",
  type,
  required: false,
  ...overrides,
});

const options = [
  { label: "Basic", value: "basic" },
  { label: "Plus", value: "plus" },
];

/** Valid answers, invalid answers and their error by type (DECISIONS.md, F11). */
const kinds: readonly (readonly [IntakeQuestion, readonly unknown[], readonly unknown[], string])[] = [
  [createQuestion("string"), ["text", "ü"], [1, true, [], {}], "Input should be a valid string"],
  [createQuestion("boolean"), [true, false], ["true", 1, 0], "Input should be a valid boolean"],
  [
    createQuestion("int"),
    [3, 0, -1, { days: 180, type: "MONTHS", value: 6 }],
    [1.5, "3", true, { days: 180, type: "EONS", value: 6 }],
    "Input should be a valid integer",
  ],
  [
    createQuestion("float"),
    [1.5, 3, { type: "USD", value: 1 }],
    ["1.5", true, { type: "USD" }],
    "Input should be a valid number",
  ],
  [
    createQuestion("date"),
    ["2031-02-28", "2032-02-29", "2031-05-07T09:10:11Z", "2031-05-07T09:10:11.5+02:00"],
    ["2031-02-29", "2031-13-01", "28.02.2031", "2031-05-07T25:00:00Z", "2031-5-7", 20310228],
    "Input should be a valid date",
  ],
  [
    createQuestion("enum", { options }),
    ["basic", "plus"],
    ["Basic", 1, ["basic"]],
    "Value should be one of basic, plus",
  ],
  [createQuestion("array of strings"), [[], ["a", "b"]], ["a", {}], "Input should be a valid list"],
  [createQuestion("array of strings"), [[]], [[1], ["a", null]], "Each item should be a valid string"],
  [
    createQuestion("array of options", { options }),
    [["plus", "basic"]],
    [["gold"], [1]],
    "Value should be one of basic, plus",
  ],
  [createQuestion("array of options", { options }), [[]], ["plus", {}], "Input should be a valid list"],
  [createQuestion("repeating"), [[], [{ a: 1 }, {}]], [{}], "Input should be a valid list"],
  [createQuestion("repeating"), [[]], [["a"], [[]], [null]], "Each item should be a valid dictionary"],
];

describe("validation of answers", () => {
  for (const [type, fitting, wrong, problem] of kinds) {
    it(`validates answers of type ${type.type}: ${problem}`, () => {
      for (const answer of fitting)
        assert.equal(validateAnswers([type], { answer }), undefined, JSON.stringify(answer));
      for (const answer of wrong) {
        assert.deepEqual(validateAnswers([type], { answer }), { answer: [problem] }, JSON.stringify(answer));
      }
    });
  }

  it("requires a non-blank answer, which a partial change may omit", () => {
    const required = createQuestion("string", { required: true });
    const missing = { answer: ["Field required"] };
    for (const answers of [{}, { answer: null }, { answer: "" }])
      assert.deepEqual(validateAnswers([required], answers), missing);
    assert.equal(validateAnswers([required], {}, { partial: true }), undefined);
    assert.deepEqual(validateAnswers([required], { answer: null }, { partial: true }), missing);
    assert.equal(validateAnswers([createQuestion("string")], { answer: null }), undefined);
  });

  it("accepts unknown keys and names of object members", () => {
    assert.equal(validateAnswers([createQuestion("string")], { other: 1 }), undefined);
    assert.deepEqual(validateAnswers([createQuestion("string", { variable: "toString", required: true })], {}), {
      toString: ["Field required"],
    });
  });

  it("fills missing answers with defaults", () => {
    const questions = [
      createQuestion("int", { default_value: 5 }),
      createQuestion("int", { variable: "other", default_value: null }),
    ];
    assert.deepEqual(applyDefaultAnswers(questions, {}), { answer: 5 });
    assert.deepEqual(applyDefaultAnswers(questions, { answer: 7 }), { answer: 7 });
  });
});
