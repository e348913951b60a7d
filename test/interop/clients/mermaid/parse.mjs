// Parses a drawing with the real parser, which cleans labels by a document of a browser.
import { readFileSync } from "node:fs";
import { JSDOM } from "jsdom";

const { window } = new JSDOM("");
globalThis.window = window;
globalThis.document = window.document;
const { default: mermaid } = await import("mermaid");
const { diagramType } = await mermaid.parse(readFileSync(process.argv[2], "utf8"));
process.stdout.write(`${JSON.stringify({ diagramType })}\n`);
